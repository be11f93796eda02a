// Levels whose numbers weigh what their anchors do: all anchors jump at the same shares, but count unequally.
//
// At level t let D(x) be the mass of the first collection's numbers up to x less that of the second's. Anchor Energy is
// 2 times the integral of D^2 over t and x, SAW_1 that of |D|, both up to max_cost, where masses may differ. SAW_2 is
// read from the other axis: between two heights of either side the s-quantiles stay, and their squared gap is integrated
// over s and t. Both merge two sorted samples, places or heights (two_ended_merge.hpp).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels.hpp"
#include "parallel.hpp"
#include "segments.hpp"
#include "square_unit.hpp"
#include "two_ended_merge.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kSegmentsPerTask = 16;

const double* level_at(const WeightedLevels& x, std::size_t k) { return x.numbers + k * x.count; }

// out[i] = mass of the i smallest numbers of level k: sums of integers, so that equal masses are equal.
void heights_of(const WeightedLevels& x, std::size_t k, double* out) {
  const std::uint32_t* anchor = x.anchor + k * x.count;
  std::int64_t height = 0;
  out[0] = 0;
  for (std::size_t i = 0; i < x.count; ++i) {
    height += x.height[anchor[i]];
    out[i + 1] = static_cast<double>(height) * kHeightUnit;
  }
}

// |D|^power after i of u's and s - i of v's smallest numbers; from above, before the j and s - j largest.
template <int power>
struct HeightGap {
  const double *x, *y;
  std::size_t n, m;
  double of(double d) const { return power == 1 ? std::fabs(d) : d * d; }
  double below(std::int64_t i, std::int64_t s) const { return of(x[i] - y[s - i]); }
  double above(std::int64_t j, std::int64_t s) const {
    return of(x[static_cast<std::int64_t>(n) - j] - y[static_cast<std::int64_t>(m) - (s - j)]);
  }
  double beyond() const { return of(x[n] - y[m]); }
};

// The square of the gap of quantiles between two heights, in units of `1 / scale`; one number more than there are.
struct ValueGap {
  const double *x, *y;
  std::size_t n, m;
  double scale;
  double of(double d) const { return (d * scale) * (d * scale); }
  double below(std::int64_t i, std::int64_t s) const { return of(x[i] - y[s - i]); }
  double above(std::int64_t j, std::int64_t s) const {
    return of(x[static_cast<std::int64_t>(n) - j] - y[static_cast<std::int64_t>(m) - (s - j)]);
  }
};

// Two merges of as many numbers side by side: four independent chains (two_ended_merge.hpp).
template <class Merge>
void finish_both(Merge one, Merge two, std::int64_t steps, double* out) {
  for (std::int64_t s = 0; s < steps; ++s) {
    one.step(s);
    two.step(s);
  }
  out[0] = one.finish(steps);
  out[1] = two.finish(steps);
}

// The sum over all segments of their width times the integral of a level pair, in their order whatever the threads.
// `prepare(segment, scratch)` gives what a level pair needs: merge(), and what to add to its integral.
template <class Prepare>
double over_segments(const WeightedLevels& x, const WeightedLevels& y, int threads, Prepare prepare) {
  const std::vector<Segment> segments = common_segments(x.levels, y.levels);
  const auto steps = static_cast<std::int64_t>(std::min(x.count, y.count));
  const std::size_t tasks = (segments.size() + kSegmentsPerTask - 1) / kSegmentsPerTask;
  const std::size_t capacity = 2 * (x.count + y.count + 2);
  std::vector<double> part(tasks);
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t) {
    std::vector<double> scratch(2 * capacity);
    const std::size_t end = std::min(segments.size(), (task + 1) * kSegmentsPerTask);
    for (std::size_t s = task * kSegmentsPerTask; s < end; s += 2) {
      const std::size_t second = std::min(s + 1, end - 1);  // of an odd number the last one is merged with itself
      const auto one = prepare(segments[s], scratch.data()), two = prepare(segments[second], scratch.data() + capacity);
      double found[2];
      finish_both(one.merge(), two.merge(), steps, found);
      part[task] += segments[s].width * (found[0] + one.rest);
      if (second > s) part[task] += segments[second].width * (found[1] + two.rest);
    }
  });
  return std::accumulate(part.begin(), part.end(), 0.0);
}

// Two sorted samples and what is integrated between them, and what lies outside of the merge.
template <class Difference>
struct LevelPair {
  const double* u;
  std::size_t n;
  const double* v;
  std::size_t m;
  Difference difference;
  double rest;
  TwoEndedMerge<double, Difference> merge() const { return {u, n, v, m, difference}; }
};

double top_of(const double* u, std::size_t n, const double* v, std::size_t m) {
  if (n == 0) return v[m - 1];
  return m == 0 ? u[n - 1] : std::max(u[n - 1], v[m - 1]);
}

template <int power>
double gaps(const WeightedLevels& x, const WeightedLevels& y, double max_cost, int threads) {
  return over_segments(x, y, threads, [&](const Segment& segment, double* scratch) {
    double *own = scratch, *other = scratch + x.count + 1;
    heights_of(x, segment.k, own);
    heights_of(y, segment.l, other);
    const double *u = level_at(x, segment.k), *v = level_at(y, segment.l);
    const HeightGap<power> difference{own, other, x.count, y.count};
    const double rest = std::max(max_cost - top_of(u, x.count, v, y.count), 0.0) * difference.beyond();
    return LevelPair<HeightGap<power>>{u, x.count, v, y.count, difference, rest};
  });
}

double largest(const WeightedLevels& x) { return level_at(x, x.levels - 1)[x.count - 1]; }

}  // namespace

double weighted_gaps(const WeightedLevels& x, const WeightedLevels& y, int power, double max_cost, int threads) {
  if (x.count + y.count == 0) return 0;
  if (x.count > 0 && y.count > 0) {
    const double span = std::max(largest(x), largest(y)) - std::min(x.numbers[0], y.numbers[0]);
    if (!std::isfinite(span)) return std::numeric_limits<double>::infinity();
  }
  return power == 1 ? gaps<1>(x, y, max_cost, threads) : gaps<2>(x, y, max_cost, threads);
}

double weighted_transport(const WeightedLevels& x, const WeightedLevels& y, int threads) {
  const double span = std::max(largest(x), largest(y)) - std::min(x.numbers[0], y.numbers[0]);
  if (!std::isfinite(span)) return std::numeric_limits<double>::infinity();
  const double unit = square_unit(span);
  const double mean = over_segments(x, y, threads, [&](const Segment& segment, double* scratch) {
    const std::size_t n = x.count, m = y.count;
    double *ends_x = scratch, *ends_y = ends_x + n + 1, *values_x = ends_y + m + 1, *values_y = values_x + n + 1;
    heights_of(x, segment.k, ends_x);
    heights_of(y, segment.l, ends_y);
    // One number more: its share is empty, but it is read.
    std::copy_n(level_at(x, segment.k), n, values_x)[0] = level_at(x, segment.k)[n - 1];
    std::copy_n(level_at(y, segment.l), m, values_y)[0] = level_at(y, segment.l)[m - 1];
    const ValueGap difference{values_x, values_y, n, m, 1 / unit};
    const double first = std::min(ends_x[1], ends_y[1]) * difference.below(0, 0);
    return LevelPair<ValueGap>{ends_x + 1, n, ends_y + 1, m, difference, first};
  });
  return std::sqrt(mean) * unit;
}

}  // namespace anchorot
