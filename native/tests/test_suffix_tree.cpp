// The suffix tree: order of children, scores, depth, removal, and a random history under the check.
#include <chrono>
#include <random>
#include <stdexcept>
#include <vector>

#include "agspec/suffix_tree.hpp"
#include "check.hpp"

namespace {

using agspec::DraftRule;
using agspec::SuffixTree;
using agspec::Token;
using Tokens = std::vector<Token>;

constexpr DraftRule kWide{.k = 8, .factor = 8.0F, .offset = 0.0F, .min_prob = 0.0F};

void append(SuffixTree& tree, std::int32_t sequence, const Tokens& tokens) {
  tree.append(sequence, tokens);
}

Tokens after(SuffixTree& tree, Tokens context) {
  context.insert(context.begin(), 99);  // A match is not the whole context.
  return tree.draft(context, kWide).ids;
}

void ties_follow_the_child_that_last_reached_the_count() {
  SuffixTree tree(2);
  append(tree, 0, {1, 2});
  append(tree, 1, {1, 3});
  CHECK((after(tree, {1}) == Tokens{2}));  // One each: the older child.
  append(tree, 2, {1, 3});
  CHECK((after(tree, {1}) == Tokens{3}));
  append(tree, 3, {1, 2});
  CHECK((after(tree, {1}) == Tokens{2}));  // Two each: 2 was the first with one, and passes by.
  CHECK(tree.check_integrity().empty());
}

void a_removed_sequence_is_neither_counted_nor_drafted() {
  SuffixTree tree(4);
  append(tree, 7, {1, 2, 3});
  append(tree, 8, {1, 2, 3, 4});
  append(tree, 9, {1, 2, 5});
  tree.remove(8);
  CHECK(tree.n_sequences() == 2);
  CHECK(tree.n_tokens() == 6);
  CHECK(tree.count(Tokens{3, 4}) == 0);
  CHECK(tree.count(Tokens{1, 2}) == 2);
  CHECK((after(tree, {1, 2}) == Tokens{3}));
  tree.remove(7);  // More is gone than left: this compacts.
  CHECK((after(tree, {1, 2}) == Tokens{5}));
  CHECK(tree.check_integrity().empty());
  tree.remove(9);
  CHECK(tree.n_tokens() == 0);
  CHECK(tree.n_states() == 1);
  CHECK(after(tree, {1}).empty());
}

void match_and_draft_share_the_depth() {
  SuffixTree tree(6);
  Tokens text(40);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<Token>(i % 20);
  append(tree, 0, text);
  const auto draft = tree.draft_sequence(0, {.k = 32});
  CHECK(draft.match_length == 3);  // Three drafted after three matched.
  CHECK((draft.ids == Tokens{0, 1, 2}));
  CHECK(draft.score == 1.5F);  // The end of the text is an occurrence that nothing follows.
  CHECK(draft.place.document == 0 && draft.place.offset == 20);
  CHECK(tree.count(Tokens(text.begin(), text.begin() + 6)) == 2);
  CHECK(tree.count(Tokens(text.begin(), text.begin() + 7)) == 0);
}

template <typename Error, typename Function>
bool throws(Function&& function) {
  try {
    function();
  } catch (const Error&) {
    return true;
  }
  return false;
}

void bad_input_is_refused_and_changes_nothing() {
  SuffixTree tree(3);
  CHECK(throws<std::invalid_argument>([] { SuffixTree none(0); }));
  CHECK(throws<std::invalid_argument>([&] { append(tree, 0, {1, -1}); }));
  CHECK(throws<std::invalid_argument>([&] { append(tree, -1, {1}); }));
  CHECK(throws<std::invalid_argument>([&] { tree.draft(Tokens{1, -2, 1}, kWide); }));
  CHECK(throws<std::invalid_argument>([&] {
    tree.draft(Tokens{1, 2}, {.k = 4, .factor = -1.0F});
  }));
  CHECK(throws<std::out_of_range>([&] { tree.remove(0); }));
  CHECK(throws<std::out_of_range>([&] { tree.draft_sequence(0, kWide); }));
  CHECK(tree.n_tokens() == 0 && tree.n_sequences() == 0);
  CHECK(tree.draft(Tokens{}, kWide).ids.empty());
  CHECK(tree.count(Tokens{-2}) == 0);
}

// Equal tokens: nothing may grow with the length of a run but the text.
void a_long_run_costs_no_more_than_its_depth() {
  SuffixTree tree(64);
  const auto start = std::chrono::steady_clock::now();
  append(tree, 0, Tokens(200'000, 7));
  CHECK(tree.n_states() == 65);
  CHECK(tree.draft_sequence(0, {.k = 32}).ids.size() == 32);
  tree.remove(0);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

void a_random_history_keeps_every_figure_right() {
  std::mt19937 random(5);
  for (std::int32_t depth : {1, 2, 3, 7, 30}) {
    SuffixTree tree(depth);
    std::vector<std::int32_t> open;
    for (std::int32_t step = 0; step < 150; ++step) {
      if (open.size() > 3 && random() % 3 == 0) {
        const auto i = random() % open.size();
        tree.remove(open[i]);
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        Tokens tokens(1 + random() % 30);
        const auto period = 1 + random() % 5;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
          tokens[i] = static_cast<Token>(random() % 4 == 0 ? random() % 4 : i % period);
        }
        const bool more = !open.empty() && random() % 2 == 0;
        const std::int32_t sequence = more ? open[random() % open.size()] : step;
        if (!more) open.push_back(sequence);
        append(tree, sequence, tokens);
      }
      for (const std::int32_t sequence : open) {
        const auto draft = tree.draft_sequence(sequence, kWide);
        CHECK(draft.ids.empty() == (draft.place.document < 0));
      }
      CHECK(tree.check_integrity().empty());
    }
  }
}

}  // namespace

int main() {
  ties_follow_the_child_that_last_reached_the_count();
  a_removed_sequence_is_neither_counted_nor_drafted();
  match_and_draft_share_the_depth();
  bad_input_is_refused_and_changes_nothing();
  a_long_run_costs_no_more_than_its_depth();
  a_random_history_keeps_every_figure_right();
  return 0;
}
