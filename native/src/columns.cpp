#include "agspec/columns.hpp"

#include <cstring>

namespace agspec::columns {

void place(const BlockQ8K& block, std::byte* group, std::size_t n_columns, std::size_t column) {
  // Offsets of Group<N> for an N that is only known now.
  std::byte* const sums = group + n_columns * kBlock;
  std::byte* const pairs = sums + n_columns * sizeof(block.sums);
  std::byte* const scales = pairs + n_columns * sizeof(block.sums) / 2;
  std::int16_t of_pairs[8];
  for (std::size_t i = 0; i < 8; ++i) {
    of_pairs[i] = static_cast<std::int16_t>(block.sums[2 * i] + block.sums[2 * i + 1]);
  }
  const float d[4] = {block.d, 0.0F, 0.0F, 0.0F};
  std::memcpy(group + column * kBlock, block.values, kBlock);
  std::memcpy(sums + column * sizeof(block.sums), block.sums, sizeof(block.sums));
  std::memcpy(pairs + column * sizeof(of_pairs), of_pairs, sizeof(of_pairs));
  std::memcpy(scales + column * sizeof(d), d, sizeof(d));
}

std::size_t block_bytes(Weights weights) {
  switch (weights) {
    case Weights::kQ4K: return sizeof(BlockQ4K);
    case Weights::kQ5K: return sizeof(BlockQ5K);
    case Weights::kQ6K: return sizeof(BlockQ6K);
  }
  return 0;
}

}  // namespace agspec::columns
