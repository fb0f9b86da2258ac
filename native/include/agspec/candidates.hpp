// The tokens that a sampler may choose from, without a pass of its own over the vocabulary.
#pragma once

#include <cstddef>
#include <span>

#include "agspec/token.hpp"

namespace agspec {

// One token of a logit row. A sampler that keeps the n most probable tokens sees all it needs in
// the few that `top_candidates` leaves.
struct Candidate {
  Token id;
  float logit;
  float p;  // Probability, for the sampler to fill in; 0 until then.
};

// Writes the candidates of a row to `out`, ids ascending, and returns how many there are. Among them
// are the n tokens with the largest logits, whatever is added to the logits of the tokens `always`
// afterwards, and these themselves; all that tie with the last of them, and a few more. NaN is no
// candidate. `out` has room for the whole row; `always` holds ids of the row, in any order.
std::size_t top_candidates(std::span<const float> row, std::size_t n, std::span<const Token> always,
                           std::span<Candidate> out);

}  // namespace agspec
