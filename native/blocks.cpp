// Anchor Energy with attributes of two uniform spaces from their sorted level matrices.
//
// Anchors weigh what their attributes say: all numbers of a block the same (anchors of one type, seen by points of one
// type), or each a vector (its anchor's features). At level t let D(x) be the mass of the first space's numbers up to x
// less that of the second's. The energy is the integral of 2 |D|^2 over t and over x up to max_cost: a sum of squares
// over the gaps of the merged order, as without attributes (merge.cpp), but D need not end at zero.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels.hpp"
#include "parallel.hpp"
#include "profile.hpp"
#include "segments.hpp"
#include "two_ended_merge.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kSegmentsPerTask = 16;

// A pair of blocks, with the levels that they have in common. An empty block has one level without numbers.
struct Pair {
  Levels<double> x, y;
  double mass_x, mass_y;
  std::vector<Segment> segments;
  AnyTotals difference;
};

std::vector<Pair> pairs_of(const LevelBlocks& x, const LevelBlocks& y, const BlockPairs& pairs) {
  static const double none[1] = {};  // outlives the pairs
  auto levels = [&](const LevelBlocks& side, std::int64_t block) {
    return block < 0 ? Levels<double>{none, 1, 0} : side.at(block);
  };
  auto mass = [](const LevelBlocks& side, std::int64_t block) { return block < 0 ? 0.0 : side.mass[block]; };
  std::vector<Pair> found;
  found.reserve(pairs.count);
  for (std::size_t p = 0; p < pairs.count; ++p) {
    const std::int64_t bx = pairs.blocks[2 * p], by = pairs.blocks[2 * p + 1];
    const Levels<double> one = levels(x, bx), two = levels(y, by);
    const double mass_one = mass(x, bx), mass_two = mass(y, by);
    found.push_back({one, two, mass_one, mass_two, common_segments(one.levels, two.levels),
                     AnyTotals(one.count, mass_one, two.count, mass_two)});
  }
  return found;
}

// Segments of one pair that are merged together.
struct Task {
  std::size_t pair, first, end;
};

std::vector<Task> tasks_of(const std::vector<Pair>& pairs) {
  std::vector<Task> tasks;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const std::size_t count = pairs[p].segments.size();
    for (std::size_t s = 0; s < count; s += kSegmentsPerTask) {
      tasks.push_back({p, s, std::min(count, s + kSegmentsPerTask)});
    }
  }
  return tasks;
}

double merged_energy(const Pair& pair, std::size_t first, std::size_t end, double max_cost) {
  const AnyTotals& difference = pair.difference;
  const auto steps = static_cast<std::int64_t>(std::min(pair.x.count, pair.y.count));
  auto merge = [&](const Segment& segment) {
    return TwoEndedMerge<double, AnyTotals>(pair.x.at(segment.k), pair.x.count, pair.y.at(segment.l), pair.y.count,
                                       difference);
  };
  auto rest = [&](const TwoEndedMerge<double, AnyTotals>& done) { return (max_cost - done.top()) * difference.beyond(); };
  double sum = 0;
  std::size_t s = first;
  for (; s + 1 < end; s += 2) {  // two levels side by side: four independent chains
    auto one = merge(pair.segments[s]), two = merge(pair.segments[s + 1]);
    const double rest_one = rest(one), rest_two = rest(two);
    for (std::int64_t i = 0; i < steps; ++i) {
      one.step(i);
      two.step(i);
    }
    sum += pair.segments[s].width * (one.finish(steps) + rest_one);
    sum += pair.segments[s + 1].width * (two.finish(steps) + rest_two);
  }
  if (s < end) {
    auto one = merge(pair.segments[s]);
    const double rest_one = rest(one);
    for (std::int64_t i = 0; i < steps; ++i) one.step(i);
    sum += pair.segments[s].width * (one.finish(steps) + rest_one);
  }
  return 2 * sum;
}

// Calls take_x(i), take_y(j) for all numbers of two sorted samples in their merged order, and between two of them
// gap(from, to); the last gap ends at `max_cost`.
template <class Gap, class TakeX, class TakeY>
void for_each_gap(const double* u, std::size_t n, const double* v, std::size_t m, double max_cost, Gap gap, TakeX take_x,
                  TakeY take_y) {
  std::size_t i = 0, j = 0;
  double here = 0;
  while (i < n || j < m) {
    const bool first = j == m || (i < n && u[i] <= v[j]);
    const double z = first ? u[i] : v[j];
    if (i + j > 0 && z > here) gap(here, z);
    here = z;
    first ? take_x(i++) : take_y(j++);
  }
  if (n + m > 0 && max_cost > here) gap(here, max_cost);
}

// The sum of all vectors taken, and its square. Four lanes, so that the order of summation is the same everywhere.
class VectorSum {
 public:
  explicit VectorSum(std::size_t size) : sum_(size) {}
  void clear() { std::fill(sum_.begin(), sum_.end(), 0.0); }
  void add(const double* vector) {
    for (std::size_t k = 0; k < sum_.size(); ++k) sum_[k] += vector[k];
  }
  double square() const {
    double lane[4] = {0, 0, 0, 0};
    for (std::size_t k = 0; k < sum_.size(); k += 4) {
      for (std::size_t l = 0; l < 4; ++l) lane[l] += sum_[k + l] * sum_[k + l];
    }
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
  }

 private:
  std::vector<double> sum_;
};

// All vectors with a sign, padded with zeros to whole lanes.
std::vector<double> padded(const VectorLevels& x, double sign, std::size_t size) {
  std::vector<double> rows(x.count * size, 0.0);
  for (std::size_t i = 0; i < x.count; ++i) {
    for (std::size_t k = 0; k < x.size; ++k) rows[i * size + k] = sign * x.vectors[i * x.size + k];
  }
  return rows;
}

double last(const MaxCosts& max_costs) { return max_costs.values[max_costs.count - 1]; }

}  // namespace

void block_energies(const LevelBlocks& x, const LevelBlocks& y, const BlockPairs& pairs, double max_cost,
                    double* out, int threads) {
  const std::vector<Pair> all = pairs_of(x, y, pairs);
  const std::vector<Task> tasks = tasks_of(all);
  std::vector<double> part(tasks.size());
  parallel_for(tasks.size(), threads, [&](std::size_t k, std::size_t) {
    part[k] = merged_energy(all[tasks[k].pair], tasks[k].first, tasks[k].end, max_cost);
  });
  std::fill(out, out + pairs.count, 0.0);
  for (std::size_t k = 0; k < tasks.size(); ++k) out[tasks[k].pair] += part[k];  // in order, whatever the threads
}

void block_profile(const LevelBlocks& x, const LevelBlocks& y, const BlockPairs& pairs, const MaxCosts& max_costs,
                   int power, double* out, int threads) {
  const std::vector<Pair> all = pairs_of(x, y, pairs);
  const std::vector<Task> tasks = tasks_of(all);
  std::vector<Profile> part(tasks.size(), Profile(max_costs));
  parallel_for(tasks.size(), threads, [&](std::size_t k, std::size_t) {
    const Pair& pair = all[tasks[k].pair];
    for (std::size_t s = tasks[k].first; s < tasks[k].end; ++s) {
      const Segment& segment = pair.segments[s];
      double count_x = 0, count_y = 0;
      part[k].restart();
      for_each_gap(
          pair.x.at(segment.k), pair.x.count, pair.y.at(segment.l), pair.y.count, last(max_costs),
          [&](double from, double to) {
            const double d = count_x * pair.mass_x - count_y * pair.mass_y;
            part[k].add(from, to, segment.width * (power == 1 ? std::fabs(d) : d * d));
          },
          [&](std::size_t) { ++count_x; }, [&](std::size_t) { ++count_y; });
    }
  });
  sum_up(part, max_costs, power, out);
}

void vector_profile(const VectorLevels& x, const VectorLevels& y, const MaxCosts& max_costs, double* out, int threads) {
  const std::size_t size = (x.size + 3) / 4 * 4;
  const std::vector<double> plus = padded(x, 1, size), minus = padded(y, -1, size);
  const std::vector<Segment> segments = common_segments(x.levels, y.levels);
  const std::size_t tasks = (segments.size() + kSegmentsPerTask - 1) / kSegmentsPerTask;
  std::vector<Profile> part(tasks, Profile(max_costs));
  parallel_for(tasks, threads, [&](std::size_t k, std::size_t) {
    VectorSum d(size);
    for (std::size_t s = k * kSegmentsPerTask; s < std::min(segments.size(), (k + 1) * kSegmentsPerTask); ++s) {
      check_interrupt();
      const std::size_t at_x = segments[s].k * x.count, at_y = segments[s].l * y.count;
      d.clear();
      part[k].restart();
      for_each_gap(
          x.numbers + at_x, x.count, y.numbers + at_y, y.count, last(max_costs),
          [&](double from, double to) { part[k].add(from, to, segments[s].width * d.square()); },
          [&](std::size_t i) { d.add(&plus[x.anchor[at_x + i] * size]); },
          [&](std::size_t j) { d.add(&minus[y.anchor[at_y + j] * size]); });
    }
  });
  sum_up(part, max_costs, 2, out);
}

}  // namespace anchorot
