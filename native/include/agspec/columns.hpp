// Products of one row of quantised weights with several columns of activations at once.
//
// A target pass over n tokens multiplies every weight matrix by n columns. llama.cpp multiplies one
// column at a time for fewer than 8 of them, and unpacks the weights for each anew; for more it
// adds in another order. Here a row is unpacked once for up to 8 columns, and every column gets the
// same operations in the same order however many there are: a pass over a draft gives bit for bit
// the logits of one-by-one decoding, and costs less (docs/adr/007-columns-share-a-row.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace agspec::columns {

constexpr std::size_t kBlock = 256;      // Values of a block of weights, or of activations.
constexpr std::size_t kMostColumns = 8;  // Columns that one reading of a row serves.
constexpr std::size_t kColumnBytes = 320;  // Of one column in a group, for each block.

enum class Weights { kQ4K, kQ5K, kQ6K };

// Block formats of llama.cpp (ggml-common.h). Halves are their 16 bits.
struct BlockQ4K {
  std::uint16_t d, dmin;
  std::uint8_t scales[12];  // 8 scales and 8 minima of 6 bits, of 32 values each.
  std::uint8_t low[128];
};
struct BlockQ5K {
  std::uint16_t d, dmin;
  std::uint8_t scales[12];
  std::uint8_t high[32];
  std::uint8_t low[128];
};
struct BlockQ6K {
  std::uint8_t low[128];
  std::uint8_t high[64];
  std::int8_t scales[16];  // Of 16 values each.
  std::uint16_t d;
};
struct BlockQ8K {  // Activations.
  float d;
  std::int8_t values[kBlock];
  std::int16_t sums[16];  // Of 16 values each.
};
static_assert(sizeof(BlockQ4K) == 144 && sizeof(BlockQ5K) == 176 && sizeof(BlockQ6K) == 210);
static_assert(sizeof(BlockQ8K) == 292);

// A block of N columns side by side, aligned: a kernel reads it through one pointer. Groups of
// blocks follow each other, so that a group of N columns takes N · kColumnBytes for each block.
template <std::size_t N>
struct Group {
  std::int8_t values[N][kBlock];
  std::int16_t sums[N][16];  // Of 16 values each.
  std::int16_t pairs[N][8];  // Of 32 values each, in the order in which the minima are multiplied.
  float d[N][4];             // The scale; the rest is padding.
};
static_assert(sizeof(Group<1>) == kColumnBytes && sizeof(Group<8>) == 8 * kColumnBytes);

// Whether this processor can run the kernels; nothing below may be called otherwise.
bool supported();

// Puts a block of activations into its group, as column `column` of `n_columns`.
void place(const BlockQ8K& block, std::byte* group, std::size_t n_columns, std::size_t column);

// Multiplies a row of `n_blocks` blocks of weights by the columns of a group, 32-byte aligned:
// out[c · stride] is the product with column c.
using Kernel = void (*)(std::size_t n_blocks, const std::byte* row, const std::byte* group,
                        float* out, std::size_t stride);

// The kernel for 1 … kMostColumns columns.
Kernel kernel(Weights weights, std::size_t n_columns);

// Bytes of a block of weights.
std::size_t block_bytes(Weights weights);

}  // namespace agspec::columns
