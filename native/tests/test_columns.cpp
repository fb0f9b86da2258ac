// Kernels for several columns: alone and among others, and against products value by value.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "agspec/columns.hpp"
#include "check.hpp"

using namespace agspec::columns;

namespace {

constexpr std::size_t kBlocks = 3;
constexpr std::uint16_t kHalfOne = 0x3c00;  // 1.0 in 16 bits
constexpr std::size_t kAlignment = 64;

std::mt19937 random_bits(7);

std::byte any_byte() { return static_cast<std::byte>(random_bits() & 0xff); }

// A row of random bits, with scales of 1.
std::vector<std::byte> row_of(Weights kind) {
  const std::size_t size = block_bytes(kind);
  std::vector<std::byte> row(kBlocks * size);
  for (auto& byte : row) byte = any_byte();
  for (std::size_t i = 0; i < kBlocks; ++i) {
    std::byte* const block = row.data() + i * size;
    if (kind == Weights::kQ6K) {
      std::memcpy(block + offsetof(BlockQ6K, d), &kHalfOne, sizeof(kHalfOne));
    } else {
      std::memcpy(block, &kHalfOne, sizeof(kHalfOne));
      std::memcpy(block + 2, &kHalfOne, sizeof(kHalfOne));
    }
  }
  return row;
}

BlockQ8K activations() {
  BlockQ8K block{};
  block.d = 0.25F;
  for (std::size_t i = 0; i < kBlock; ++i) {
    block.values[i] = static_cast<std::int8_t>(static_cast<int>(random_bits() % 255) - 127);
    block.sums[i / 16] = static_cast<std::int16_t>(block.sums[i / 16] + block.values[i]);
  }
  return block;
}

int scale_of(const std::uint8_t* packed, int run) {
  return run < 4 ? packed[run] & 63 : (packed[run + 4] & 15) | (packed[run - 4] >> 6) << 4;
}

int minimum_of(const std::uint8_t* packed, int run) {
  return run < 4 ? packed[run + 4] & 63 : (packed[run + 4] >> 4) | (packed[run] >> 6) << 4;
}

// One value of a block whose scales are 1.
int value_of(Weights kind, const std::byte* at, int i) {
  if (kind == Weights::kQ6K) {
    BlockQ6K block;
    std::memcpy(&block, at, sizeof(block));
    const int half = i / 128, part = i % 128 / 32, j = i % 32;
    const int byte = block.low[64 * half + 32 * (part % 2) + j];
    const int four = part >= 2 ? byte >> 4 : byte & 15;
    const int two = block.high[32 * half + j] >> (2 * part) & 3;
    return block.scales[i / 16] * (four + 16 * two - 32);
  }
  const int run = i / 32, j = i % 32;
  if (kind == Weights::kQ4K) {
    BlockQ4K block;
    std::memcpy(&block, at, sizeof(block));
    const int byte = block.low[32 * (run / 2) + j];
    const int q = run % 2 ? byte >> 4 : byte & 15;
    return scale_of(block.scales, run) * q - minimum_of(block.scales, run);
  }
  BlockQ5K block;
  std::memcpy(&block, at, sizeof(block));
  const int byte = block.low[32 * (run / 2) + j];
  const int q = (run % 2 ? byte >> 4 : byte & 15) + 16 * (block.high[j] >> run & 1);
  return scale_of(block.scales, run) * q - minimum_of(block.scales, run);
}

double slow_product(Weights kind, const std::vector<std::byte>& row,
                    const std::vector<BlockQ8K>& column) {
  double sum = 0.0;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const int weight = value_of(kind, row.data() + b * block_bytes(kind), static_cast<int>(i));
      sum += static_cast<double>(column[b].d) * weight * column[b].values[i];
    }
  }
  return sum;
}

std::vector<float> products(Weights kind, const std::vector<std::byte>& row,
                            const std::vector<std::vector<BlockQ8K>>& columns) {
  const std::size_t n = columns.size();
  std::vector<std::byte> memory(kBlocks * n * kColumnBytes + kAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  std::byte* const groups = memory.data() + (kAlignment - address % kAlignment) % kAlignment;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    for (std::size_t c = 0; c < n; ++c) {
      place(columns[c][b], groups + b * n * kColumnBytes, n, c);
    }
  }
  constexpr std::size_t kStride = 3;
  std::vector<float> out(n * kStride, -1.0F);
  kernel(kind, n)(kBlocks, row.data(), groups, out.data(), kStride);
  std::vector<float> found;
  for (std::size_t c = 0; c < n; ++c) found.push_back(out[c * kStride]);
  return found;
}

void check_all(Weights kind) {
  for (std::size_t n = 1; n <= kMostColumns; ++n) {
    const auto row = row_of(kind);
    std::vector<std::vector<BlockQ8K>> columns(n);
    for (auto& column : columns) {
      for (std::size_t b = 0; b < kBlocks; ++b) column.push_back(activations());
    }
    const auto together = products(kind, row, columns);
    for (std::size_t c = 0; c < n; ++c) {
      const float alone = products(kind, row, {columns[c]})[0];
      CHECK(std::memcmp(&alone, &together[c], sizeof(alone)) == 0);
      const double expected = slow_product(kind, row, columns[c]);
      CHECK(std::abs(together[c] - expected) <= 1e-5 * (std::abs(expected) + 1e5));
    }
  }
}

}  // namespace

int main() {
  if (!supported()) return 0;
  for (const Weights kind : {Weights::kQ4K, Weights::kQ5K, Weights::kQ6K}) check_all(kind);
  return 0;
}
