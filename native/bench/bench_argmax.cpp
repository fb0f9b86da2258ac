// Times the arg-max of a row of logits: every variant for this processor, and the scalar twin.
//
//   bench_argmax [N_FLOATS]    151,936 without it: the vocabulary of Qwen2.5.
//
// Prints one JSON object a line. The variants take turns on the same rows; each figure is the
// median of its rounds. One core.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "agspec/largest.hpp"
#include "agspec/verify.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 400;
constexpr std::size_t kRows = 17;  // As many as a draft of 16 has.

struct Timed {
  std::string name;
  agspec::Largest run;  // Null for the scalar twin.
  std::vector<double> row_us;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 151'936;
  if (n == 0) {
    std::fprintf(stderr, "a row has at least one float\n");
    return 2;
  }
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  std::vector<float> rows(kRows * n);
  for (float& value : rows) value = normal(random);
  std::vector<Timed> all{{"scalar", nullptr, {}}};
  for (const auto& variant : agspec::largest_variants()) {
    all.push_back({variant.name, variant.run, {}});
  }
  long long sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (Timed& timed : all) {
      const std::size_t at = static_cast<std::size_t>(round) % kRows;
      const std::span<const float> row{rows.data() + at * n, n};
      const auto start = Clock::now();
      sum += timed.run ? agspec::argmax(row, timed.run) : agspec::argmax_scalar(row);
      const auto taken = Clock::now() - start;
      timed.row_us.push_back(std::chrono::duration<double, std::micro>(taken).count());
    }
  }
  const double scalar_us = median(all.front().row_us);
  for (const Timed& timed : all) {
    const double us = median(timed.row_us);
    std::printf(
        "{\"engine\": \"argmax-%s\", \"n_floats\": %zu, \"row_us\": %.2f, "
        "\"scalar_over_this\": %.2f, \"checksum\": %lld}\n",
        timed.name.c_str(), n, us, scalar_us / us, sum);
  }
}
