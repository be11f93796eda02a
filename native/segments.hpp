// Levels of two collections on one scale.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace anchorot {

// Levels k of the first collection and l of the second that hold together over `width` of the levels t in [0, 1].
struct Segment {
  std::size_t k, l;
  double width;
};

// The common refinement of {k/K} and {l/L}: K + L - gcd(K, L) segments, found in integers.
inline std::vector<Segment> common_segments(std::size_t K, std::size_t L) {
  std::vector<Segment> segments;
  segments.reserve(K + L - std::gcd(K, L));
  const double unit = 1.0 / (static_cast<double>(K) * static_cast<double>(L));
  std::uint64_t t = 0;  // in those units
  for (std::size_t k = 0, l = 0; k < K;) {
    const std::uint64_t end_k = static_cast<std::uint64_t>(k + 1) * L;
    const std::uint64_t end_l = static_cast<std::uint64_t>(l + 1) * K;
    const std::uint64_t end = std::min(end_k, end_l);
    segments.push_back({k, l, static_cast<double>(end - t) * unit});
    t = end;
    if (end_k == end) ++k;
    if (end_l == end) ++l;
  }
  return segments;
}

}  // namespace anchorot
