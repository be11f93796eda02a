// Anchor Energy of two uniform spaces from their sorted level matrices.
//
// At level t the anchors' quantiles are two samples on the line, u (n numbers) and v (m numbers), both sorted. Let
// D(x) = #{u <= x}/n - #{v <= x}/m. The energy distance at that level is
//
//     p = 1:   2 integral D(x)^2 dx
//     p >= 3:  p (p - 1) double integral |x - y|^(p - 2) D(x) D(y) dx dy
//
// and AE_p is its integral over t. Both need only the merged order and the gaps in it, so nothing cancels when u and
// v lie far from zero, and p = 1 is a sum of squares (two_ended_merge.hpp). For p >= 3 the gaps are scaled by a power of
// two to the range of all numbers, so that no power of them leaves the range of floats unless the energy does.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "gap_powers.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "segments.hpp"
#include "two_ended_merge.hpp"

namespace anchorot {
namespace {

// Energy at one level for p >= 3; gaps are multiplied with `unit`.
class PowerEnergy {
 public:
  PowerEnergy(int p, double unit) : gaps_(p), unit_(unit) {}

  template <class T>
  double operator()(const T* u, std::size_t n, const T* v, std::size_t m) {
    gaps_.start();
    const double unit_u = 1.0 / static_cast<double>(n), unit_v = 1.0 / static_cast<double>(m);
    double previous = std::min<double>(u[0], v[0]);
    std::size_t i = 0, j = 0;
    while (i < n || j < m) {
      const bool first = j == m || (i < n && u[i] <= v[j]);
      const double z = first ? u[i] : v[j];
      if (z > previous) {
        gaps_.pass((z - previous) * unit_, static_cast<double>(i) * unit_u - static_cast<double>(j) * unit_v);
        previous = z;
      }
      (first ? i : j) += 1;
    }
    return gaps_.energy();
  }

 private:
  GapPowers gaps_;
  double unit_;
};

constexpr std::size_t kSegmentsPerTask = 16;

// Between the smallest and the largest number of both spaces; infinite if beyond the range of floats.
template <class T>
double range(const Levels<T>& x, const Levels<T>& y) {
  auto largest = [](const Levels<T>& side) { return side.at(side.levels - 1)[side.count - 1]; };
  const double low = std::min(x.at(0)[0], y.at(0)[0]), high = std::max(largest(x), largest(y));
  return high - low;
}

// energy[s] for the segments from `first` to `end`, p = 1.
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

// The same for p >= 3, with gaps in a unit.
template <class T>
void power_energies(const Levels<T>& x, const Levels<T>& y, const std::vector<Segment>& segments, std::size_t first,
                    std::size_t end, int p, double unit, std::vector<double>& energy) {
  PowerEnergy power(p, unit);
  for (std::size_t s = first; s < end; ++s) {
    check_interrupt();  // a level takes milliseconds if p is large
    energy[s] = segments[s].width * power(x.at(segments[s].k), x.count, y.at(segments[s].l), y.count);
  }
}

}  // namespace

template <class T>
double level_energy(const Levels<T>& x, const Levels<T>& y, int p, int threads) {
  const double span = range(x, y);
  if (!std::isfinite(span)) return std::numeric_limits<double>::infinity();
  const int scale = p >= 3 ? scale_of(span) : 0;
  const std::vector<Segment> segments = common_segments(x.levels, y.levels);
  std::vector<double> energy(segments.size());
  const std::size_t tasks = (segments.size() + kSegmentsPerTask - 1) / kSegmentsPerTask;
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t) {
    const std::size_t first = task * kSegmentsPerTask, end = std::min(segments.size(), first + kSegmentsPerTask);
    if (p >= 3) {
      power_energies(x, y, segments, first, end, p, std::ldexp(1.0, -scale), energy);
    } else {
      merged_energies(x, y, segments, first, end, energy);
    }
  });
  // In the order of levels, whatever the threads.
  const double sum = std::accumulate(energy.begin(), energy.end(), 0.0);
  return std::ldexp(sum, scale * p);
}

template double level_energy(const Levels<double>&, const Levels<double>&, int, int);
template double level_energy(const Levels<float>&, const Levels<float>&, int, int);

}  // namespace anchorot
