// What a corpus proposes.
#pragma once

#include <cstdint>
#include <vector>

#include "agspec/token.hpp"

namespace agspec {

// A place in a corpus: a document and an offset in tokens within it.
struct Place {
  std::int32_t document = -1;  // Index of the document in the order of its indexing; -1 if none.
  Position offset = 0;         // Tokens from the document's beginning.
};

// What a corpus knows of the decoding context before a draft is made.
struct Match {
  std::int32_t length = 0;   // Tokens in the match; 0 if there is none.
  std::int32_t n_seen = 0;   // Earlier occurrences of it.
  std::int32_t n_group = 0;  // Of those, the ones followed by the group that a draft begins with.
};

// Tokens copied from a corpus.
struct Draft {
  std::vector<Token> ids;  // Proposed tokens; empty if nothing follows the match.
  Place place;             // Where the first of them was copied from.
};

}  // namespace agspec
