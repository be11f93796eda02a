// A unit for squares of gaps.
#pragma once

#include <algorithm>
#include <cmath>

namespace anchorot {

constexpr int kSafeExponent = 400;  // squares of 2^400 and of 2^-400, and sums of them, are normal numbers

// Squares of gaps are made in this unit, a power of two, if their range is extreme: they stay in the range of floats.
inline double square_unit(double span) {
  int exponent = 0;
  std::frexp(span, &exponent);
  return span == 0 || std::abs(exponent) <= kSafeExponent ? 1.0 : std::ldexp(1.0, std::clamp(exponent, -1000, 1000));
}

}  // namespace anchorot
