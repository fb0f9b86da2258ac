#include "agspec/largest.hpp"

#include <array>
#include <limits>

// A function may be compiled for more than the build's own instruction set where the compiler lets
// it say so. Elsewhere the build's own is used: SSE2 on x86-64 and NEON on arm64 at the least.
#if defined(__x86_64__) && defined(__GNUC__)
#define AGSPEC_X86_VARIANTS 1
#define AGSPEC_INLINE inline __attribute__((always_inline))
#else
#define AGSPEC_X86_VARIANTS 0
#define AGSPEC_INLINE inline
#endif

namespace agspec {
namespace {

constexpr std::size_t kLanes = 64;  // Independent running maxima: several registers of any width.
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// One text for all variants: fixed-width loops that compilers turn into vector maxima.
AGSPEC_INLINE float largest_of(const float* values, std::size_t n) {
  // `value > best` is false for NaN, so a NaN never replaces a maximum.
  std::size_t i = 0;
  float result = kLowest;
  if (n >= kLanes) {
    std::array<float, kLanes> best;
    best.fill(kLowest);
    for (; i + kLanes <= n; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const float value = values[i + lane];
        best[lane] = value > best[lane] ? value : best[lane];
      }
    }
    for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::size_t lane = 0; lane < width; ++lane) {
        best[lane] = best[lane + width] > best[lane] ? best[lane + width] : best[lane];
      }
    }
    result = best[0];
  }
  for (; i < n; ++i) result = values[i] > result ? values[i] : result;
  return result;
}

float largest_base(const float* values, std::size_t n) { return largest_of(values, n); }

#if AGSPEC_X86_VARIANTS
__attribute__((target("avx2"))) float largest_avx2(const float* values, std::size_t n) {
  return largest_of(values, n);
}

__attribute__((target("avx512f"))) float largest_avx512(const float* values, std::size_t n) {
  return largest_of(values, n);
}
#endif

struct Variants {
  std::array<LargestVariant, 3> all{{{"base", &largest_base}}};
  std::size_t n = 1;

  Variants() {
#if AGSPEC_X86_VARIANTS
    if (__builtin_cpu_supports("avx2")) all[n++] = {"avx2", &largest_avx2};
    if (__builtin_cpu_supports("avx512f")) all[n++] = {"avx512", &largest_avx512};
#endif
  }
};

const Variants& variants() {
  static const Variants made;
  return made;
}

}  // namespace

float largest(const float* values, std::size_t n) {
  const Variants& known = variants();
  return known.all[known.n - 1].run(values, n);
}

float largest_scalar(const float* values, std::size_t n) {
  float best = kLowest;
  for (std::size_t i = 0; i < n; ++i) {
    if (values[i] > best) best = values[i];
  }
  return best;
}

std::span<const LargestVariant> largest_variants() {
  return {variants().all.data(), variants().n};
}

}  // namespace agspec
