#include "agspec/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "agspec/largest.hpp"

namespace agspec {
namespace {

constexpr std::size_t kBlock = 64;  // Floats whose maximum stands for them.

// A bar that at least n values of the row reach: the n-th largest of the blocks' maxima, since each
// of the blocks before it in that order holds a value of its own that is as large.
float bar_of(std::vector<float> maxima, std::size_t n) {
  if (n == 0 || n > maxima.size()) return -std::numeric_limits<float>::infinity();
  const auto nth = maxima.begin() + static_cast<std::ptrdiff_t>(n - 1);
  std::nth_element(maxima.begin(), nth, maxima.end(), std::greater<>());
  return *nth;
}

bool by_id(const Candidate& a, const Candidate& b) { return a.id < b.id; }

}  // namespace

std::size_t top_candidates(std::span<const float> row, std::size_t n, std::span<const Token> always,
                           std::span<Candidate> out) {
  std::vector<float> maxima((row.size() + kBlock - 1) / kBlock);
  for (std::size_t block = 0; block < maxima.size(); ++block) {
    const std::size_t start = block * kBlock;
    maxima[block] = largest(row.data() + start, std::min(kBlock, row.size() - start));
  }
  // Each token of `always` may fall out of the n largest; as many more follow them there.
  const float bar = bar_of(maxima, n + always.size());
  std::size_t n_out = 0;
  for (std::size_t block = 0; block < maxima.size(); ++block) {
    if (maxima[block] < bar) continue;
    const std::size_t start = block * kBlock;
    for (std::size_t i = start; i < std::min(start + kBlock, row.size()); ++i) {
      if (row[i] >= bar) out[n_out++] = {static_cast<Token>(i), row[i], 0.0f};
    }
  }
  std::vector<Token> others(always.begin(), always.end());
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  const std::size_t n_top = n_out;
  for (const Token id : others) {
    const float logit = row[static_cast<std::size_t>(id)];
    if (logit < bar) out[n_out++] = {id, logit, 0.0f};
  }
  const auto begin = out.begin();
  std::inplace_merge(begin, begin + static_cast<std::ptrdiff_t>(n_top),
                     begin + static_cast<std::ptrdiff_t>(n_out), by_id);
  return n_out;
}

}  // namespace agspec
