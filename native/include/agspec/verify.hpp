// Greedy verification: the target's own choice against the draft, position by position.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "agspec/largest.hpp"
#include "agspec/token.hpp"

namespace agspec {

// Id of the largest logit of a row; the lowest id on exact ties, as llama.cpp's greedy sampler
// chooses. NaN is never larger than anything; a row with nothing but NaN and -inf gives 0.
// The row must not be empty.
Token argmax(std::span<const float> row);

// The same by one of `largest_variants`, so that each can be tested and timed.
Token argmax(std::span<const float> row, Largest largest_value);

// The same choice, one comparison at a time: the reference that `argmax` is tested against.
Token argmax_scalar(std::span<const float> row);

struct Verdict {
  std::size_t n_accepted;  // Drafted tokens that equal the target's choice, from the first on.
  Token bonus;             // The target's choice after them.
};

// Verifies a draft against logit rows of shape (draft.size() + 1, n_vocab), row-major.
// Rows behind the first rejection are not read.
Verdict greedy_verify(const float* logits, std::size_t n_vocab, std::span<const Token> draft);

// A flag that stops a running decode. The target's compute threads read it through
// `cancel_requested`, a plain C function, so that no interpreter runs inside them.
class CancelFlag {
 public:
  void set() { flag_.store(true, std::memory_order_relaxed); }
  void clear() { flag_.store(false, std::memory_order_relaxed); }
  bool is_set() const { return flag_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> flag_{false};
};

// An abort callback: `data` is the address of a CancelFlag.
extern "C" bool agspec_cancel_requested(void* data);

}  // namespace agspec
