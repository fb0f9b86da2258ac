// The largest of many floats, by the widest registers that the processor at hand has.
#pragma once

#include <cstddef>
#include <span>

namespace agspec {

// The largest value; -inf for nothing but NaN, or for nothing at all. NaN is never larger than
// anything.
float largest(const float* values, std::size_t n);

// The same, one comparison at a time: the reference that the others are tested against.
float largest_scalar(const float* values, std::size_t n);

using Largest = float (*)(const float* values, std::size_t n);

struct LargestVariant {
  const char* name;  // The instruction set it is compiled for.
  Largest run;
};

// Those that this processor can run, the widest last; `largest` is that one.
std::span<const LargestVariant> largest_variants();

}  // namespace agspec
