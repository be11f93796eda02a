// Anchor Energy of two uniform spaces from their sorted level matrices.
//
// At level t the anchors' quantiles are two samples on the line, u (n numbers) and v (m numbers), both sorted. Let
// D(x) = #{u <= x}/n - #{v <= x}/m. The energy distance at that level is
//
//     2 integral D(x)^2 dx
//
// and AE_1 is its integral over t. It needs only the merged order and the gaps in it, so nothing cancels when u and v
// lie far from zero, and it is a sum of squares (two_ended_merge.hpp).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels.hpp"
#include "parallel.hpp"
#include "segments.hpp"
#include "two_ended_merge.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kSegmentsPerTask = 16;

// Between the smallest and the largest number of both spaces; infinite if beyond the range of floats.
template <class T>
double range(const Levels<T>& x, const Levels<T>& y) {
  auto largest = [](const Levels<T>& side) { return side.at(side.levels - 1)[side.count - 1]; };
  const double low = std::min(x.at(0)[0], y.at(0)[0]), high = std::max(largest(x), largest(y));
  return high - low;
}

// energy[s] for the segments from `first` to `end`.
template <class T>
void merged_energies(const Levels<T>& x, const Levels<T>& y, const std::vector<Segment>& segments, std::size_t first,
                     std::size_t end, std::vector<double>& energy) {
  const auto steps = static_cast<std::int64_t>(std::min(x.count, y.count));
  const EqualTotals difference(x.count, y.count);
  auto merge = [&](std::size_t index) {
    return TwoEndedMerge<T, EqualTotals>(x.at(segments[index].k), x.count, y.at(segments[index].l), y.count, difference);
  };
  std::size_t s = first;
  for (; s + 1 < end; s += 2) {  // two levels side by side: four independent chains
    auto one = merge(s), two = merge(s + 1);
    for (std::int64_t i = 0; i < steps; ++i) {
      one.step(i);
      two.step(i);
    }
    energy[s] = segments[s].width * 2 * one.finish(steps);
    energy[s + 1] = segments[s + 1].width * 2 * two.finish(steps);
  }
  if (s < end) {
    auto one = merge(s);
    for (std::int64_t i = 0; i < steps; ++i) one.step(i);
    energy[s] = segments[s].width * 2 * one.finish(steps);
  }
}

}  // namespace

template <class T>
double level_energy(const Levels<T>& x, const Levels<T>& y, int threads) {
  const double span = range(x, y);
  if (!std::isfinite(span)) return std::numeric_limits<double>::infinity();
  const std::vector<Segment> segments = common_segments(x.levels, y.levels);
  std::vector<double> energy(segments.size());
  const std::size_t tasks = (segments.size() + kSegmentsPerTask - 1) / kSegmentsPerTask;
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t) {
    const std::size_t first = task * kSegmentsPerTask, end = std::min(segments.size(), first + kSegmentsPerTask);
    merged_energies(x, y, segments, first, end, energy);
  });
  // In the order of levels, whatever the threads.
  return std::accumulate(energy.begin(), energy.end(), 0.0);
}

template double level_energy(const Levels<double>&, const Levels<double>&, int);
template double level_energy(const Levels<float>&, const Levels<float>&, int);

}  // namespace anchorot
