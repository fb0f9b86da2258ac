// The kernels for x86-64 with AVX2, which every such processor since 2013 (Intel) and 2015 (AMD)
// has. Sums of integers are exact in any order. What is added in floating point is added in the
// order of llama.cpp's own dot products: block by block, eight lanes, then the lanes.
#include "agspec/columns.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <array>
#include <cstring>
#include <utility>

#define AGSPEC_AVX2 __attribute__((target("avx2,fma,f16c")))
#define AGSPEC_AVX2_INLINE inline __attribute__((always_inline, target("avx2,fma,f16c")))

namespace agspec::columns {
namespace {

AGSPEC_AVX2_INLINE __m256i load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// Has a sum made here. GCC would gather the products of a whole block in memory first and add them
// in pairs, which takes half as long again.
AGSPEC_AVX2_INLINE void keep(__m256i& sum) { __asm__("" : "+x"(sum)); }

AGSPEC_AVX2_INLINE float sum_of(__m256 lanes) {
  __m128 sum = _mm_add_ps(_mm256_extractf128_ps(lanes, 1), _mm256_castps256_ps128(lanes));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

AGSPEC_AVX2_INLINE float sum_of(__m128 lanes) {
  const __m128 sum = _mm_add_ps(lanes, _mm_movehl_ps(lanes, lanes));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

// Scales (lower half) and minima (upper half) of eight runs of 32 values, 16 bits each.
AGSPEC_AVX2_INLINE __m256i scales_and_minima(const std::uint8_t* packed) {
  std::uint32_t a, b, c;
  std::memcpy(&a, packed, 4);
  std::memcpy(&b, packed + 4, 4);
  std::memcpy(&c, packed + 8, 4);
  constexpr std::uint32_t kSix = 0x3f3f3f3f, kFour = 0x0f0f0f0f, kTwo = 0x03030303;
  const std::uint32_t later_scales = (c & kFour) | (((a >> 6) & kTwo) << 4);
  const std::uint32_t later_minima = ((c >> 4) & kFour) | (((b >> 6) & kTwo) << 4);
  return _mm256_cvtepu8_epi16(
      _mm_set_epi32(static_cast<int>(later_minima), static_cast<int>(b & kSix),
                    static_cast<int>(later_scales), static_cast<int>(a & kSix)));
}

// Sixteen times the scale of a run, which lies at 16-bit lane `run` of both halves.
template <int run>
AGSPEC_AVX2_INLINE __m256i scale_of(__m256i scales) {
  return _mm256_shuffle_epi8(scales, _mm256_set1_epi16((2 * run + 1) << 8 | 2 * run));
}

// Bits moved to the left, or to the right where `by` is negative.
template <int by>
AGSPEC_AVX2_INLINE __m256i moved(__m256i bits) {
  if constexpr (by >= 0) {
    return _mm256_slli_epi16(bits, by);
  } else {
    return _mm256_srli_epi16(bits, -by);
  }
}

// Values 64·j … 64·j + 63 of a block, those of the first 32 and those of the others.
struct Unpacked {
  __m256i first, second;
};

template <int j>
AGSPEC_AVX2_INLINE Unpacked unpacked(const BlockQ4K& block) {
  const __m256i four = _mm256_set1_epi8(15);
  const __m256i bits = load(block.low + 32 * j);
  return {_mm256_and_si256(bits, four), _mm256_and_si256(_mm256_srli_epi16(bits, 4), four)};
}

template <int j>
AGSPEC_AVX2_INLINE Unpacked unpacked(const BlockQ5K& block) {
  const __m256i four = _mm256_set1_epi8(15), fifth = _mm256_set1_epi8(16);
  const __m256i bits = load(block.low + 32 * j), high = load(block.high);
  // Bit 2·j of each byte is the fifth of the first value, the next one that of the second.
  const __m256i first = moved<4 - 2 * j>(high), second = moved<3 - 2 * j>(high);
  return {_mm256_or_si256(_mm256_and_si256(bits, four), _mm256_and_si256(first, fifth)),
          _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(bits, 4), four),
                          _mm256_and_si256(second, fifth))};
}

template <int j, std::size_t N, class Block>
AGSPEC_AVX2_INLINE void add_runs(const Block& block, __m256i scales, const Group<N>& group,
                                 __m256i (&sums)[N]) {
  const Unpacked values = unpacked<j>(block);
  const __m256i of_first = scale_of<2 * j>(scales), of_second = scale_of<2 * j + 1>(scales);
#pragma GCC unroll 8
  for (std::size_t c = 0; c < N; ++c) {
    const auto* with = group.values[c] + 64 * j;
    const __m256i first = _mm256_maddubs_epi16(values.first, load(with));
    const __m256i second = _mm256_maddubs_epi16(values.second, load(with + 32));
    sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(of_first, first));
    sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(of_second, second));
    keep(sums[c]);
  }
}

// Q4_K and Q5_K: a value is d · scale · q − dmin · minimum.
template <std::size_t N, class Block>
AGSPEC_AVX2 void multiply_with_minima(std::size_t n_blocks, const std::byte* row,
                                      const std::byte* columns, float* out, std::size_t stride) {
  const auto* blocks = reinterpret_cast<const Block*>(row);
  const auto* groups = reinterpret_cast<const Group<N>*>(columns);
  __m256 total[N];
  __m128 below[N];
  for (std::size_t c = 0; c < N; ++c) {
    total[c] = _mm256_setzero_ps();
    below[c] = _mm_setzero_ps();
  }
  for (std::size_t i = 0; i < n_blocks; ++i) {
    const Block& block = blocks[i];
    const Group<N>& group = groups[i];
    const __m256i both = scales_and_minima(block.scales);
    const __m128i minima = _mm256_extracti128_si256(both, 1);
    const __m256i scales = _mm256_permute2x128_si256(both, both, 0);
    __m256i sums[N];
#pragma GCC unroll 8
    for (std::size_t c = 0; c < N; ++c) sums[c] = _mm256_setzero_si256();
    add_runs<0>(block, scales, group, sums);
    add_runs<1>(block, scales, group, sums);
    add_runs<2>(block, scales, group, sums);
    add_runs<3>(block, scales, group, sums);
    const __m256 d = _mm256_set1_ps(_cvtsh_ss(block.d));
    const __m128 dmin = _mm_set1_ps(-_cvtsh_ss(block.dmin));
#pragma GCC unroll 8
    for (std::size_t c = 0; c < N; ++c) {
      const __m256 of_column = _mm256_broadcast_ss(group.d[c]);
      const __m128i pairs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(group.pairs[c]));
      below[c] = _mm_fmadd_ps(_mm_mul_ps(_mm256_castps256_ps128(of_column), dmin),
                              _mm_cvtepi32_ps(_mm_madd_epi16(minima, pairs)), below[c]);
      total[c] =
          _mm256_fmadd_ps(_mm256_mul_ps(of_column, d), _mm256_cvtepi32_ps(sums[c]), total[c]);
    }
  }
  for (std::size_t c = 0; c < N; ++c) out[c * stride] = sum_of(total[c]) + sum_of(below[c]);
}

// Adds the products of 32 values of a Q6_K block, which begin at 32 · part.
template <int part, std::size_t N>
AGSPEC_AVX2_INLINE void add_part(__m256i values, __m128i scales, const Group<N>& group,
                                 __m256i (&sums)[N]) {
  constexpr char first = 2 * part, second = 2 * part + 1;
  const __m256i scale = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(
      scales, _mm_set_epi8(second, second, second, second, second, second, second, second, first,
                           first, first, first, first, first, first, first)));
#pragma GCC unroll 8
  for (std::size_t c = 0; c < N; ++c) {
    const __m256i product = _mm256_maddubs_epi16(values, load(group.values[c] + 32 * part));
    sums[c] = _mm256_add_epi32(sums[c], _mm256_madd_epi16(scale, product));
    keep(sums[c]);
  }
}

template <int half, std::size_t N>
AGSPEC_AVX2_INLINE void add_half(const BlockQ6K& block, __m128i scales, const Group<N>& group,
                                 __m256i (&sums)[N]) {
  const __m256i four = _mm256_set1_epi8(15), high = load(block.high + 32 * half);
  const __m256i low = load(block.low + 64 * half), more = load(block.low + 64 * half + 32);
  const __m256i two = _mm256_set1_epi8(0x30);
  add_part<4 * half>(_mm256_or_si256(_mm256_and_si256(low, four),
                                     _mm256_and_si256(_mm256_slli_epi16(high, 4), two)),
                     scales, group, sums);
  add_part<4 * half + 1>(_mm256_or_si256(_mm256_and_si256(more, four),
                                         _mm256_and_si256(_mm256_slli_epi16(high, 2), two)),
                         scales, group, sums);
  add_part<4 * half + 2>(_mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(low, 4), four),
                                         _mm256_and_si256(high, two)),
                         scales, group, sums);
  add_part<4 * half + 3>(_mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(more, 4), four),
                                         _mm256_and_si256(_mm256_srli_epi16(high, 2), two)),
                         scales, group, sums);
}

// Q6_K: a value is d · scale · (q − 32).
template <std::size_t N>
AGSPEC_AVX2 void multiply_q6k(std::size_t n_blocks, const std::byte* row, const std::byte* columns,
                              float* out, std::size_t stride) {
  const auto* blocks = reinterpret_cast<const BlockQ6K*>(row);
  const auto* groups = reinterpret_cast<const Group<N>*>(columns);
  __m256 total[N];
  for (std::size_t c = 0; c < N; ++c) total[c] = _mm256_setzero_ps();
  for (std::size_t i = 0; i < n_blocks; ++i) {
    const BlockQ6K& block = blocks[i];
    const Group<N>& group = groups[i];
    const __m128i scales = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.scales));
    __m256i sums[N];
#pragma GCC unroll 8
    for (std::size_t c = 0; c < N; ++c) sums[c] = _mm256_setzero_si256();
    add_half<0>(block, scales, group, sums);
    add_half<1>(block, scales, group, sums);
    const __m256i wide = _mm256_cvtepi8_epi16(scales);
    const __m256 d = _mm256_set1_ps(_cvtsh_ss(block.d));
#pragma GCC unroll 8
    for (std::size_t c = 0; c < N; ++c) {
      // 32 of each value, by the sums of 16.
      const __m256i above = _mm256_slli_epi32(_mm256_madd_epi16(load(group.sums[c]), wide), 5);
      total[c] = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_broadcast_ss(group.d[c]), d),
                                 _mm256_cvtepi32_ps(_mm256_sub_epi32(sums[c], above)), total[c]);
    }
  }
  for (std::size_t c = 0; c < N; ++c) out[c * stride] = sum_of(total[c]);
}

using Kernels = std::array<Kernel, kMostColumns>;

template <class Block, std::size_t... I>
constexpr Kernels with_minima(std::index_sequence<I...>) {
  return {&multiply_with_minima<I + 1, Block>...};
}

template <std::size_t... I>
constexpr Kernels q6k(std::index_sequence<I...>) {
  return {&multiply_q6k<I + 1>...};
}

constexpr auto kSizes = std::make_index_sequence<kMostColumns>{};
constexpr std::array<Kernels, 3> kKernels{with_minima<BlockQ4K>(kSizes),
                                          with_minima<BlockQ5K>(kSizes), q6k(kSizes)};

}  // namespace

bool supported() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

Kernel kernel(Weights weights, std::size_t n_columns) {
  return kKernels[static_cast<std::size_t>(weights)][n_columns - 1];
}

}  // namespace agspec::columns

#else

namespace agspec::columns {

bool supported() { return false; }
Kernel kernel(Weights, std::size_t) { return nullptr; }

}  // namespace agspec::columns

#endif
