// Tokens and positions: the only vocabulary that the core shares with the outside.
#pragma once

#include <cstdint>

namespace agspec {

// A token id of the target's vocabulary. Negative ids are separators: no match, group or draft
// holds one.
using Token = std::int32_t;

// A position in a text, in tokens from its beginning.
using Position = std::int32_t;

inline constexpr Position kNoPosition = -1;

inline constexpr bool is_separator(Token token) { return token < 0; }

}  // namespace agspec
