// Anchor Energy of two uniform spaces from their sorted level matrices.
//
// At level t the anchors' quantiles are two samples on the line, u (n numbers) and v (m numbers), both sorted. Let
// D(x) = #{u <= x}/n - #{v <= x}/m. The energy distance at that level is
//
//     p = 1:   2 integral D(x)^2 dx
//     p >= 3:  p (p - 1) double integral |x - y|^(p - 2) D(x) D(y) dx dy
//
// and AE_p is its integral over t. Both need only the merged order and the gaps in it, so nothing cancels when u and
// v lie far from zero, and p = 1 is a sum of squares. For p >= 3 the gaps are scaled by a power of two to the range of
// all numbers, so that no power of them leaves the range of floats unless the energy does.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "gap_powers.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace anchorot {
namespace {

// Levels k of the first space and l of the second that hold together over `width` of the levels t in [0, 1].
struct Segment {
  std::size_t k, l;
  double width;
};

// The common refinement of {k/K} and {l/L}: K + L - gcd(K, L) segments, found in integers.
std::vector<Segment> common_segments(std::size_t K, std::size_t L) {
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

// Integral of D^2 over the merged order. The merge runs from both ends at once: in
// min(n, m) steps neither end can run out of numbers, so the steps need no bounds, and two independent chains
// of them hide each other's latency. After s steps of which i took a number of u, D = (i m - (s - i) n) / (n m): an
// integer over another, so that it is exactly zero where it should be.
template <class T>
class TwoEndedMerge {
 public:
  TwoEndedMerge(const T* u, std::size_t n, const T* v, std::size_t m)
      : u_(u),
        v_(v),
        u_top_(u + n - 1),
        v_top_(v + m - 1),
        n_(static_cast<std::int64_t>(n)),
        m_(static_cast<std::int64_t>(m)),
        unit_(1.0 / (static_cast<double>(n) * static_cast<double>(m))),
        low_(std::min(u[0], v[0])),
        high_(std::max(*u_top_, *v_top_)) {}

  void step(std::int64_t s) {
    const T a = u_[i_], b = v_[s - i_];
    const T z = a <= b ? a : b;
    sum_low_ += (static_cast<double>(z) - low_) * square(i_, s);
    low_ = z;
    i_ += a <= b;  // equal numbers: u's comes first

    const T c = u_top_[-j_], e = v_top_[j_ - s];
    const T y = c > e ? c : e;
    sum_high_ += (high_ - static_cast<double>(y)) * square(j_, s);
    high_ = y;
    j_ += c > e;  // and from above, v's
  }

  // After `steps` steps: what the two ends left in the middle, if n != m; then the gap between the ends.
  double finish(std::int64_t steps) {
    std::int64_t s = steps;
    const std::int64_t i_end = n_ - j_, k_end = m_ - (steps - j_);  // one past what is left of u and of v
    for (; s < n_ + m_ - steps; ++s) {
      const std::int64_t k = s - i_;
      const bool first = k == k_end || (i_ < i_end && u_[i_] <= v_[k]);
      const double z = first ? u_[i_] : v_[k];
      sum_low_ += (z - low_) * square(i_, s);
      low_ = z;
      i_ += first;
    }
    return sum_low_ + (high_ - low_) * square(i_, s) + sum_high_;
  }

 private:
  double square(std::int64_t i, std::int64_t s) const {
    const double d = static_cast<double>(i * (n_ + m_) - s * n_) * unit_;
    return d * d;
  }

  const T *u_, *v_, *u_top_, *v_top_;
  const std::int64_t n_, m_;
  const double unit_;
  std::int64_t i_ = 0, j_ = 0;  // numbers of u taken from below and from above
  double low_, high_;           // where the two ends stand
  double sum_low_ = 0, sum_high_ = 0;
};

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
  auto merge = [&](std::size_t index) {
    return TwoEndedMerge<T>(x.at(segments[index].k), x.count, y.at(segments[index].l), y.count);
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
