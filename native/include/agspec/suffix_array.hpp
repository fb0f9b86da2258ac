// A suffix array over a text that does not change: the global corpus.
//
// It reads the text, the order of its suffixes and the shared prefixes where they lie, e.g. in a
// mapped file, and keeps only two small tables of its own. All three must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agspec/suffix_sort.hpp"
#include "agspec/token.hpp"

namespace agspec {

// Longest match, in tokens: a group behind it must still be told apart by `shared`.
inline constexpr std::int32_t kMostMatched = kMostShared - 3;
inline constexpr std::int32_t kArrayVisitCap = 32768;
inline constexpr std::int32_t kMostVocab = 1 << 24;

// The suffixes order[begin], …, order[end - 1]: those that begin with the same `length` tokens.
struct SuffixRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int32_t length = 0;

  bool operator==(const SuffixRange&) const = default;
};

class SuffixArray {
 public:
  // Takes what `sort_suffixes` made. Checks all that could lead out of the text: sizes, ids below
  // `n_vocab`, an order that holds every position once. Whether the order is right is left to
  // `check_integrity`. Throws std::invalid_argument.
  SuffixArray(std::span<const Token> text, std::span<const Position> order,
              std::span<const std::uint8_t> shared, std::int32_t n_vocab);

  std::int32_t n_tokens() const { return static_cast<std::int32_t>(text_.size()); }

  // All suffixes, which share no token yet.
  SuffixRange all() const { return {0, n_tokens(), 0}; }

  // Keeps the suffixes of a range that go on with `token`. O(log n). False, and the range as it
  // was, if there are none or if the range is kMostMatched long.
  bool narrow(SuffixRange& range, Token token) const;

  // Suffixes that begin with `tokens`; empty if there are none, or at more than kMostMatched tokens.
  SuffixRange find(std::span<const Token> tokens) const;

  // Suffixes that begin with the longest suffix of `context`, of at most `most` tokens, that
  // occurs; all() if its last token does not occur. `most_first` tries that length before others.
  SuffixRange longest_suffix(std::span<const Token> context, std::int32_t most,
                             bool most_first) const;

  // Where to copy from: the first token of the most frequent group of three tokens that follow the
  // range's tokens, ties to the most recent occurrence (the largest position). If nothing is
  // followed by three tokens: the most recent occurrence that is followed by one. kNoPosition if
  // there is none. Looks at no more than `visit_cap` suffixes for repeated groups, and at an eighth
  // as many again if there is none; exact if that is not reached.
  Position most_frequent_group(const SuffixRange& range,
                               std::int32_t visit_cap = kArrayVisitCap) const;

  // Up to `k` tokens from `start` on, never past a separator.
  std::vector<Token> copy(Position start, std::int32_t k) const;

  // Bytes of its own tables, without the text, the order and the shared prefixes.
  std::size_t memory_bytes() const;

  // Compares the order and the shared prefixes with the text, suffix by suffix. The first fault in
  // words; empty if there is none.
  std::string check_integrity() const;

 private:
  // The token at a position; a separator beyond the end.
  Token token(Position position) const {
    const auto i = static_cast<std::size_t>(static_cast<std::uint32_t>(position));
    return i < text_.size() ? text_[i] : Token{-1};
  }
  Position suffix(std::int32_t i) const { return order_[static_cast<std::size_t>(i)]; }
  std::int32_t shared(std::int32_t i) const { return shared_[static_cast<std::size_t>(i)]; }

  bool is_full_group(Position start) const;
  bool same_group(Position a, Position b) const;
  std::int32_t first_not_below(const SuffixRange& range, Token token) const;
  std::int32_t group_end(std::int32_t begin, std::int32_t known, const SuffixRange& range) const;
  Position repeated_group(const SuffixRange& range, std::int32_t visit_cap) const;
  Position most_recent(const SuffixRange& range, std::int32_t visit_cap) const;
  Position last_suffix(std::int32_t begin, std::int32_t end) const;

  std::span<const Token> text_;
  std::span<const Position> order_;
  std::span<const std::uint8_t> shared_;
  std::vector<std::int32_t> first_;   // Where the suffixes begin that start with a token, by token.
  std::vector<Position> block_last_;  // Largest position of each block of the order.
};

// Follows a decoding context through a suffix array and keeps the longest suffix of its last
// kMostMatched tokens that occurs. Tokens are only read when the match is asked for: where they
// extend it the range is narrowed, else the longest suffix is searched anew once.
class ArrayCursor {
 public:
  // The array must outlive it.
  explicit ArrayCursor(const SuffixArray& array);

  // Forgets the tokens it was advanced over.
  void reset();

  void advance(std::span<const Token> tokens);

  const SuffixArray& array() const { return *array_; }

  // The suffixes that begin with the match; its length is 0 if nothing matches.
  const SuffixRange& match();

 private:
  const SuffixArray* array_;
  SuffixRange range_;
  std::vector<Token> context_;     // The last tokens, at least kMostMatched if there are as many.
  std::size_t n_unread_ = 0;       // Of these, how many are not in the range yet.
};

}  // namespace agspec
