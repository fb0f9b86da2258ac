#include "agspec/verify.hpp"

#include <algorithm>
#include <limits>

namespace agspec {
namespace {

constexpr std::size_t kBlock = 2048;  // Floats per block, so that the second look is short.
constexpr float kLowest = -std::numeric_limits<float>::infinity();

}  // namespace

Token argmax(std::span<const float> row) { return argmax(row, &largest); }

Token argmax(std::span<const float> row, Largest largest_value) {
  float best = kLowest;
  std::size_t block = 0;
  for (std::size_t start = 0; start < row.size(); start += kBlock) {
    const float value = largest_value(row.data() + start, std::min(kBlock, row.size() - start));
    if (value > best) {
      best = value;
      block = start;
    }
  }
  if (best == kLowest) return 0;
  // One block is read twice; carrying an index through the whole row would cost more.
  std::size_t index = block;
  while (row[index] != best) ++index;
  return static_cast<Token>(index);
}

Token argmax_scalar(std::span<const float> row) {
  float best = kLowest;
  std::size_t index = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] > best) {
      best = row[i];
      index = i;
    }
  }
  return static_cast<Token>(index);
}

Verdict greedy_verify(const float* logits, std::size_t n_vocab, std::span<const Token> draft) {
  for (std::size_t i = 0;; ++i) {
    const Token choice = argmax({logits + i * n_vocab, n_vocab});
    if (i == draft.size() || choice != draft[i]) return {i, choice};
  }
}

extern "C" bool agspec_cancel_requested(void* data) {
  return static_cast<const CancelFlag*>(data)->is_set();
}

}  // namespace agspec
