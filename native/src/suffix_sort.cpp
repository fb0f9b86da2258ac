#include "agspec/suffix_sort.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace agspec {
namespace {

using Numbers = std::vector<std::int32_t>;
using View = std::span<const std::int32_t>;

constexpr std::int32_t kEmpty = -1;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

// Induced sorting (Nong, Zhang & Chan, 2009) of one text of symbols 0, 1, 2, … whose last symbol
// is 0 and occurs nowhere else. A suffix is small if it is less than the one behind it.
class InducedSort {
 public:
  InducedSort(View text, std::int32_t n_symbols)
      : text_(text), n_(static_cast<std::int32_t>(text.size())), counts_(at(n_symbols)) {
    small_.assign(text.size(), 1);
    for (std::int32_t i = n_ - 2; i >= 0; --i) {
      const auto here = text[at(i)], behind = text[at(i + 1)];
      small_[at(i)] = here < behind || (here == behind && small_[at(i + 1)]);
    }
    for (const std::int32_t symbol : text) ++counts_[at(symbol)];
    for (std::int32_t i = 1; i < n_; ++i) {
      if (is_valley(i)) valleys_.push_back(i);
    }
  }

  Numbers sorted() {
    Numbers order = induced_from(valleys_);
    if (valleys_.size() > 1) order = induced_from(sorted_valleys(order));
    return order;
  }

 private:
  // A small suffix behind a large one.
  bool is_valley(std::int32_t i) const { return i > 0 && small_[at(i)] && !small_[at(i - 1)]; }

  // First place of each symbol's suffixes, or the place behind the last one.
  Numbers bounds(bool ends) const {
    Numbers bounds(counts_.size());
    std::int32_t sum = 0;
    for (std::size_t symbol = 0; symbol < counts_.size(); ++symbol) {
      if (ends) sum += counts_[symbol];
      bounds[symbol] = sum;
      if (!ends) sum += counts_[symbol];
    }
    return bounds;
  }

  // The order that follows from the order of the valleys: of all suffixes if that one is right, of
  // the stretches between two valleys if it is any.
  Numbers induced_from(const Numbers& valleys) const {
    Numbers order(text_.size(), kEmpty);
    Numbers ends = bounds(true);
    for (auto valley = valleys.rbegin(); valley != valleys.rend(); ++valley) {
      order[at(--ends[at(text_[at(*valley)])])] = *valley;
    }
    Numbers starts = bounds(false);
    for (std::int32_t i = 0; i < n_; ++i) {
      const std::int32_t before = order[at(i)] - 1;
      if (before >= 0 && !small_[at(before)]) {
        order[at(starts[at(text_[at(before)])]++)] = before;
      }
    }
    ends = bounds(true);
    for (std::int32_t i = n_ - 1; i >= 0; --i) {
      const std::int32_t before = order[at(i)] - 1;
      if (before >= 0 && small_[at(before)]) order[at(--ends[at(text_[at(before)])])] = before;
    }
    return order;
  }

  // Whether the stretches from two valleys to their next ones are equal.
  bool same_stretch(std::int32_t a, std::int32_t b) const {
    if (a == n_ - 1 || b == n_ - 1) return false;
    for (std::int32_t i = 0;; ++i) {
      if (text_[at(a + i)] != text_[at(b + i)]) return false;
      if (i == 0) continue;
      const bool a_ends = is_valley(a + i), b_ends = is_valley(b + i);
      if (a_ends || b_ends) return a_ends && b_ends;
    }
  }

  // The valleys in the order of their suffixes, given all suffixes in the order of their stretches:
  // stretches are numbered, and the text of these numbers is sorted in turn.
  Numbers sorted_valleys(const Numbers& order) const {
    Numbers names(text_.size(), kEmpty);
    std::int32_t name = -1, last = kEmpty;
    for (const std::int32_t i : order) {
      if (!is_valley(i)) continue;
      if (last == kEmpty || !same_stretch(last, i)) ++name;
      names[at(i)] = name;
      last = i;
    }
    Numbers reduced;
    reduced.reserve(valleys_.size());
    for (const std::int32_t valley : valleys_) reduced.push_back(names[at(valley)]);
    Numbers().swap(names);
    Numbers sorted = InducedSort(reduced, name + 1).sorted();
    for (std::int32_t& i : sorted) i = valleys_[at(i)];
    return sorted;
  }

  View text_;
  std::int32_t n_;
  std::vector<char> small_;
  Numbers counts_;
  Numbers valleys_;
};

// The text as symbols: the end, then the separators, then the tokens that occur. Returns the number
// of symbols.
std::int32_t to_symbols(std::span<const Token> text, Numbers& symbols) {
  std::vector<Token> known;
  for (const Token token : text) {
    if (!is_separator(token)) known.push_back(token);
  }
  const auto n_separators = static_cast<std::int32_t>(text.size() - known.size());
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  symbols.reserve(text.size() + 1);
  std::int32_t next_separator = 1;
  for (const Token token : text) {
    if (is_separator(token)) {
      symbols.push_back(next_separator++);
      continue;
    }
    const auto rank = std::lower_bound(known.begin(), known.end(), token) - known.begin();
    symbols.push_back(1 + n_separators + static_cast<std::int32_t>(rank));
  }
  symbols.push_back(0);
  return 1 + n_separators + static_cast<std::int32_t>(known.size());
}

// Common prefixes of neighbours in linear time (Kasai et al., 2001): the suffix one further on
// shares at most one token less with its own neighbour.
void share(const Numbers& symbols, std::span<const Position> order,
           std::span<std::uint8_t> shared) {
  Numbers before(order.size() + 1, kEmpty);  // The suffix that comes before, by position.
  Numbers place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[at(order[i])] = static_cast<std::int32_t>(i);
    if (i > 0) before[at(order[i])] = order[i - 1];
  }
  std::int32_t length = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int32_t other = before[i];
    if (other == kEmpty) {
      length = 0;
    } else {
      // The end is a symbol that occurs once, so that this stops.
      while (symbols[i + at(length)] == symbols[at(other + length)]) ++length;
    }
    shared[at(place[i])] = static_cast<std::uint8_t>(std::min(length, kMostShared));
    length = std::max(0, length - 1);
  }
}

}  // namespace

void sort_suffixes(std::span<const Token> text, std::span<Position> order,
                   std::span<std::uint8_t> shared) {
  if (text.size() >= (std::size_t{1} << 30)) throw std::length_error("the text is full");
  Numbers symbols;
  const std::int32_t n_symbols = to_symbols(text, symbols);
  const Numbers sorted = InducedSort(symbols, n_symbols).sorted();
  std::copy(sorted.begin() + 1, sorted.end(), order.begin());  // Without the end itself.
  share(symbols, order, shared);
}

}  // namespace agspec
