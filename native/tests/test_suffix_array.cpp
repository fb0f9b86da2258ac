#include "agspec/suffix_array.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "check.hpp"

namespace {

using agspec::ArrayCursor;
using agspec::Position;
using agspec::SuffixArray;
using agspec::SuffixRange;
using agspec::Token;
using Text = std::vector<Token>;

// A text with what was sorted of it.
struct Sorted {
  explicit Sorted(Text tokens) : text(std::move(tokens)), order(text.size()), shared(text.size()) {
    agspec::sort_suffixes(text, order, shared);
  }
  SuffixArray array(std::int32_t n_vocab) const { return {text, order, shared, n_vocab}; }

  Text text;
  std::vector<Position> order;
  std::vector<std::uint8_t> shared;
};

void suffixes_are_sorted_up_to_their_separator() {
  const Sorted sorted({2, 1, 2, -1, 2, 1, 2});
  CHECK((sorted.order == std::vector<Position>{3, 5, 1, 6, 2, 4, 0}));
  CHECK((sorted.shared == std::vector<std::uint8_t>{0, 0, 2, 0, 1, 1, 3}));
  CHECK(sorted.array(3).check_integrity().empty());
}

void equal_separators_are_told_apart() {
  const Sorted sorted({1, 2, -1, 1, 2, -1, 1, 2});
  CHECK(sorted.array(3).check_integrity().empty());
  CHECK(*std::max_element(sorted.shared.begin(), sorted.shared.end()) == 2);
}

void a_range_is_narrowed_token_by_token() {
  const Sorted sorted({1, 2, 3, -1, 1, 2, 4, -2, 1, 3});
  const SuffixArray array = sorted.array(5);
  SuffixRange range = array.all();
  CHECK(array.narrow(range, 1) && range.end - range.begin == 3 && range.length == 1);
  CHECK(array.narrow(range, 2) && range.end - range.begin == 2 && range.length == 2);
  const SuffixRange before = range;
  CHECK(!array.narrow(range, 5) && range == before);
  CHECK(!array.narrow(range, -1) && range == before);
  CHECK(array.narrow(range, 4) && range.end - range.begin == 1);
  CHECK(sorted.order[static_cast<std::size_t>(range.begin)] == 4);
  CHECK(!array.narrow(range, 4));
  CHECK(array.find(Text{2, 5}) == SuffixRange{});
}

void a_cursor_keeps_the_longest_suffix() {
  const Sorted sorted({1, 2, 3, 4, -1, 3, 4, 5, 6});
  const SuffixArray array = sorted.array(8);
  ArrayCursor cursor(array);
  CHECK(cursor.match().length == 0);
  cursor.advance(Text{7, 2, 3, 4});
  CHECK(cursor.match().length == 3);
  CHECK(array.most_frequent_group(cursor.match()) == agspec::kNoPosition);
  cursor.advance(Text{5});
  CHECK(cursor.match().length == 3);
  CHECK(array.most_frequent_group(cursor.match()) == 8);
  cursor.advance(Text{7});
  CHECK(cursor.match().length == 0);
  cursor.advance(Text(2000, 3));
  CHECK(cursor.match().length == 1);
}

void long_runs_of_one_group_are_galloped_over() {
  Text text;
  for (std::int32_t n = 0; n < 3000; ++n) text.insert(text.end(), {0, 1, 2, 3, -1});
  for (std::int32_t n = 0; n < 3000; ++n) text.insert(text.end(), {0, 4, 5, 6, -1});
  text.insert(text.end(), {0, 4, 5, 6});
  const Sorted sorted(text);
  const SuffixArray array = sorted.array(7);
  const SuffixRange range = array.find(Text{0});
  CHECK(range.end - range.begin == 6001);
  CHECK(array.most_frequent_group(range) == 30001);
  CHECK(array.most_frequent_group(range, 100) >= 0);
}

void an_order_that_leads_out_of_the_text_is_refused() {
  Sorted sorted({1, 2, 3});
  sorted.order[1] = 3;
  bool refused = false;
  try {
    sorted.array(4);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

// What a forged file may hold: every position once, but in any order, and any shared prefixes.
void wrong_orders_and_prefixes_never_lead_out_of_the_text() {
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    Text text(1 + random() % 600);
    for (Token& token : text) token = below(4) - (below(9) == 0 ? 4 : 0);
    Sorted sorted(text);
    std::shuffle(sorted.order.begin(), sorted.order.end(), random);
    for (auto& n : sorted.shared) n = static_cast<std::uint8_t>(below(2) == 0 ? 255 : below(256));
    const SuffixArray array = sorted.array(4);
    ArrayCursor cursor(array);
    for (int step = 0; step < 20; ++step) {
      cursor.advance(Text{below(4), below(4)});
      const Position start = array.most_frequent_group(cursor.match());
      for (const Token token : array.copy(start, 5)) CHECK(token >= 0 && token < 4);
    }
  }
}

}  // namespace

int main() {
  suffixes_are_sorted_up_to_their_separator();
  equal_separators_are_told_apart();
  a_range_is_narrowed_token_by_token();
  a_cursor_keeps_the_longest_suffix();
  long_runs_of_one_group_are_galloped_over();
  an_order_that_leads_out_of_the_text_is_refused();
  wrong_orders_and_prefixes_never_lead_out_of_the_text();
}
