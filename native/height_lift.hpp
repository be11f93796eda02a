// Lifts rows one by one in the sorted array of all heights; see moving_heights.hpp.
//
// A lifted row passes two or three entries as a rule, now and then hundreds; a loop that ends after these would be
// mispredicted nearly every time. So kLiftWidth entries are looked at together, and those that are not passed are written
// back as they were.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "portable.hpp"
#include "simd.hpp"
#include "simd_kernels.hpp"

namespace ANCHOROT_ISA {
namespace {

using anchorot::HeightState;
using anchorot::kLiftWidth;

// By doubling steps, then bisection: on graph distances thousands of heights are equal.
std::size_t last_of_equals(const HeightState& state, std::size_t k) {
  const std::int64_t height = state.height[k];
  std::size_t other = state.count;  // the nearest entry known to be higher
  for (std::size_t step = 1; other - k > step; step *= 2) {
    if (state.height[k + step] != height) {
      other = k + step;
      break;
    }
    k += step;
  }
  while (other - k > 1) {
    const std::size_t middle = k + (other - k) / 2;
    (state.height[middle] == height ? k : other) = middle;
  }
  return k;
}

// What is integrated over the heights that a row of mass s passes: D for the energy, of which s (s jump - 2 integral) is
// the change, or by how much |D| changes when D falls by s.
struct Squares {
  static double term(double d, double) { return d; }
  static double change(double area, double s, std::int64_t jump) { return s * (s * static_cast<double>(jump) - 2 * area); }
#if defined(__AVX2__)
  static __m256d term(__m256d d, __m256d) { return d; }
#endif
};
struct Magnitudes {
  static double term(double d, double s) { return std::fabs(d - s) - std::fabs(d); }
  static double change(double area, double, std::int64_t) { return area; }
#if defined(__AVX2__)
  static __m256d term(__m256d d, __m256d s) {
    const __m256d sign = _mm256_set1_pd(-0.0);
    return _mm256_sub_pd(_mm256_andnot_pd(sign, _mm256_sub_pd(d, s)), _mm256_andnot_pd(sign, d));
  }
#endif
};

// Integrals over the entries 0, 1, 2, 3, 0, ... from the lifted one on, so that all instruction sets add up alike.
#if defined(__AVX2__)

struct Area {
  __m256d part = _mm256_setzero_pd();
  double sum() const {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(part), _mm256_extractf128_pd(part, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
};

inline __m256i load(const std::int64_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
inline __m256i load(const std::uint32_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
inline void store(void* to, __m256i what) { _mm256_storeu_si256(static_cast<__m256i*>(to), what); }

constexpr std::int32_t kMoved[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

// Integers from 0 to 2^63 - 1 as doubles, rounded once: both halves become digits of large powers of two.
inline __m256d to_double(__m256i x) {
  const __m256i low = _mm256_blend_epi32(x, _mm256_set1_epi64x(0x4330000000000000), 0b10101010);  // 2^52 + low half
  const __m256i high = _mm256_or_si256(_mm256_srli_epi64(x, 32), _mm256_set1_epi64x(0x4530000000000000));  // 2^84 + ...
  return _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(high), _mm256_set1_pd(0x1.00000001p84)),
                       _mm256_castsi256_pd(low));
}

// The four entries from k on. Returns which of the entries above them are passed.
template <class Norm>
inline unsigned pass_four(const HeightState& state, std::size_t k, __m256i target, __m256d s, __m256i above,
                          __m256d d_above, Area& area) {
  const __m256i here = load(state.height + k), zero = _mm256_setzero_si256();
  // Where this entry and the next one lie below the target: between them D is passed, or up to the target.
  const __m256i below = _mm256_sub_epi64(here, target), next_below = _mm256_sub_epi64(above, target);
  const __m256i is_passed = _mm256_cmpgt_epi64(zero, next_below);
  const __m256i width = _mm256_sub_epi64(_mm256_and_si256(next_below, is_passed),
                                         _mm256_and_si256(below, _mm256_cmpgt_epi64(zero, below)));
  const __m256d d = _mm256_loadu_pd(state.d + k), passed = _mm256_castsi256_pd(is_passed);
  area.part = _mm256_add_pd(area.part, _mm256_mul_pd(to_double(width), Norm::term(d, s)));
  store(state.height + k, _mm256_add_epi64(here, width));
  _mm256_storeu_pd(state.d + k, _mm256_blendv_pd(d, _mm256_sub_pd(d_above, s), passed));
  return static_cast<unsigned>(_mm256_movemask_pd(passed));
}

// Move the entries above k that lie below `target` down by one, kLiftWidth at most; returns how many.
template <class Norm>
inline std::size_t pass_some(const HeightState& state, std::size_t k, std::int64_t target, double s, Area& area) {
  const __m256i above_0 = load(state.height + k + 1), above_4 = load(state.height + k + 5);
  const __m256d d_0 = _mm256_loadu_pd(state.d + k + 1), d_4 = _mm256_loadu_pd(state.d + k + 5);
  const __m256i targets = _mm256_set1_epi64x(target);
  const __m256d mass = _mm256_set1_pd(s);
  const unsigned low = pass_four<Norm>(state, k, targets, mass, above_0, d_0, area);
  const unsigned high = pass_four<Norm>(state, k + 4, targets, mass, above_4, d_4, area);
  const auto passed = static_cast<std::size_t>(_mm_popcnt_u32(low | high << 4));
  const __m256i moved = load(reinterpret_cast<const std::uint32_t*>(kMoved + kLiftWidth - passed));
  alignas(32) std::uint32_t place[kLiftWidth];
  const __m256i next = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(k)), _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8));
  store(place, _mm256_add_epi32(next, moved));
  ANCHOROT_UNROLL(8)
  for (std::size_t t = 0; t < kLiftWidth; ++t) {  // whose place is written does not wait for who is passed
    state.place[state.row[k + 1 + t]] = place[t];
  }
  store(state.row + k, _mm256_blendv_epi8(load(state.row + k), load(state.row + k + 1), moved));
  return passed;
}

// Move the kLiftWidth entries above k down by one: all of them are passed.
template <class Norm>
inline void pass_all(const HeightState& state, std::size_t k, double s, Area& area) {
  const __m256i above_0 = load(state.height + k + 1), above_4 = load(state.height + k + 5);
  const __m256d d_0 = _mm256_loadu_pd(state.d + k + 1), d_4 = _mm256_loadu_pd(state.d + k + 5);
  const __m256i rows = load(state.row + k + 1);
  const __m256d width_0 = to_double(_mm256_sub_epi64(above_0, load(state.height + k)));
  const __m256d width_4 = to_double(_mm256_sub_epi64(above_4, load(state.height + k + 4)));
  const __m256d mass = _mm256_set1_pd(s);
  area.part = _mm256_add_pd(area.part, _mm256_mul_pd(width_0, Norm::term(_mm256_loadu_pd(state.d + k), mass)));
  area.part = _mm256_add_pd(area.part, _mm256_mul_pd(width_4, Norm::term(_mm256_loadu_pd(state.d + k + 4), mass)));
  ANCHOROT_UNROLL(8)
  for (std::size_t t = 0; t < kLiftWidth; ++t) state.place[state.row[k + 1 + t]] = static_cast<std::uint32_t>(k + t);
  store(state.height + k, above_0);
  store(state.height + k + 4, above_4);
  _mm256_storeu_pd(state.d + k, _mm256_sub_pd(d_0, mass));
  _mm256_storeu_pd(state.d + k + 4, _mm256_sub_pd(d_4, mass));
  store(state.row + k, rows);
}

// Move all entries above k that lie below `target` down by one; returns where the last of them was.
template <class Norm>
inline std::size_t pass_entries(const HeightState& state, std::size_t k, std::int64_t target, double s, Area& area) {
  std::size_t passed = pass_some<Norm>(state, k, target, s, area);
  while (passed == kLiftWidth) {
    k += kLiftWidth;
    for (; state.height[k + kLiftWidth] < target; k += kLiftWidth) pass_all<Norm>(state, k, s, area);
    passed = pass_some<Norm>(state, k, target, s, area);
  }
  return k + passed;
}

#else

struct Area {
  double part[4] = {};
  double sum() const { return (part[0] + part[2]) + (part[1] + part[3]); }
};

template <class Norm>
inline std::size_t pass_entries(const HeightState& state, std::size_t k, std::int64_t target, double s, Area& area) {
  std::size_t part = 0;
  for (; state.height[k + 1] < target; ++k, part = (part + 1) % 4) {
    area.part[part] += static_cast<double>(state.height[k + 1] - state.height[k]) * Norm::term(state.d[k], s);
    state.height[k] = state.height[k + 1];
    state.d[k] = state.d[k + 1] - s;
    state.row[k] = state.row[k + 1];
    state.place[state.row[k]] = static_cast<std::uint32_t>(k);
  }
  area.part[part] += static_cast<double>(target - state.height[k]) * Norm::term(state.d[k], s);
  state.height[k] = target;
  return k;
}

#endif

template <class Norm>
inline double lift(const HeightState& state, std::uint32_t row, std::int64_t jump, std::size_t& crossings) {
  const double s = state.mass[row];
  std::size_t k = state.place[row];
  const std::int64_t here = state.height[k];
  if (state.height[k + 1] == here) [[unlikely]] {
    // Change places with the row of the last entry of equal height, which may be left without a gap.
    const std::size_t last = last_of_equals(state, k);
    state.row[k] = state.row[last];
    state.place[state.row[k]] = static_cast<std::uint32_t>(k);
    k = last;
  }
  if ((state.height - 1)[k] == here) [[unlikely]] (state.d - 1)[k] = state.d[k] - s;
  const std::int64_t target = here + jump;
  Area area;  // the integral from the old height to the new
  crossings -= k;
  k = pass_entries<Norm>(state, k, target, s, area);
  state.row[k] = row;
  state.place[row] = static_cast<std::uint32_t>(k);
  crossings += k;
  return Norm::change(area.sum(), s, jump);
}

constexpr std::size_t kPlaceAhead = 24, kEntryAhead = 12;  // events whose rows' places and entries are fetched ahead

template <class Norm>
std::size_t lift_rows(const HeightState& given, const anchorot::LiftEvent* events, std::size_t count, double* change) {
  using anchorot::portable::prefetch;
  const HeightState state = given;  // its own copy, which nothing written can change
  std::size_t crossings = 0;
  for (std::size_t e = 0; e < count; ++e) {
    if (e + kPlaceAhead < count) {
      prefetch(&state.place[events[e + kPlaceAhead].row]);
      prefetch(&state.mass[events[e + kPlaceAhead].row]);
    }
    if (e + kEntryAhead < count) {
      const std::size_t k = state.place[events[e + kEntryAhead].row];
      prefetch(&state.height[k]);
      prefetch(&state.d[k]);
      prefetch(&state.row[k]);
    }
    change[e] = lift<Norm>(state, events[e].row, events[e].jump, crossings);
  }
  return crossings;
}

}  // namespace
}  // namespace ANCHOROT_ISA
