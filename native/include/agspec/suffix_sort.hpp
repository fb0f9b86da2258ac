// Sorting all suffixes of a text of tokens.
#pragma once

#include <cstdint>
#include <span>

#include "agspec/token.hpp"

namespace agspec {

// Longest common prefix that `shared` tells apart; longer ones are stored as this.
inline constexpr std::int32_t kMostShared = 255;

// Sorts the suffixes of `text` by their tokens. Each separator counts as a symbol of its own, less
// than every token, in the order of the positions, whatever its value; the text's end is less than
// all. No comparison therefore goes past a separator.
//
// `order` receives the positions, `shared[i]` how many leading tokens the suffixes at `order[i - 1]`
// and `order[i]` have in common, at most kMostShared; both are as long as the text. Linear time and
// about 30 bytes a token while it runs. Throws std::length_error at 2^30 tokens.
void sort_suffixes(std::span<const Token> text, std::span<Position> order,
                   std::span<std::uint8_t> shared);

}  // namespace agspec
