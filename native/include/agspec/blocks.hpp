// An array that grows in blocks: nothing is moved when it grows, and no half of it stands empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace agspec {

template <typename T, unsigned kShift = 10>
class Blocks {
 public:
  std::int32_t size() const { return size_; }

  T& operator[](std::int32_t i) { return blocks_[index(i) >> kShift][index(i) & kMask]; }
  const T& operator[](std::int32_t i) const {
    return blocks_[index(i) >> kShift][index(i) & kMask];
  }

  // Appends a value and returns its index.
  std::int32_t push(const T& value) {
    if ((index(size_) & kMask) == 0) blocks_.push_back(std::make_unique<T[]>(kMask + 1));
    (*this)[size_] = value;
    return size_++;
  }

  // Bytes that were taken from the allocator.
  std::size_t bytes() const {
    return blocks_.size() * (kMask + 1) * sizeof(T) + blocks_.capacity() * sizeof(blocks_[0]);
  }

 private:
  static constexpr std::size_t kMask = (std::size_t{1} << kShift) - 1;
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

  std::vector<std::unique_ptr<T[]>> blocks_;
  std::int32_t size_ = 0;
};

}  // namespace agspec
