// SL-AE as the paper prints it (Algorithms 1 and 2): the expected cost E[OT_1] between the rows of two collections.
//
// Kept as the documented reference: anchorot's own sweep and sorts compute the same number faster. Two things
// differ from the printed lines: S starts with the total mass at height 0 (the printed 0 gives wrong results), and
// the trees range over all heights that occur, ranked, so that heights may be any real numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "fenwick.hpp"
#include "interrupt.hpp"
#include "kernels.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kEventsBetweenChecks = 1024;

struct Side {
  const Events& events;
  std::vector<std::int64_t> height;  // H[k][i]
  std::vector<std::size_t> rank;     // of those heights
  std::vector<std::size_t> target;   // rank of the height that each event leads to
  MassTree tree{0};                  // S^k and T^k
  double total = 0, total_moment = 0;

  explicit Side(const Events& e) : events(e), height(e.rows, 0), rank(e.rows, 0), target(e.count) {}

  void add(std::size_t row, double mass) {
    const double moment = mass * static_cast<double>(height[row]);
    tree.add(rank[row], {mass, moment});
    total_moment += moment;
  }

  // sum over rows x of a_x |c - H_x|, by the four partial sums of Proposition 2
  double variation(double c, std::size_t c_rank) const {
    const MassMoment below = tree.up_to(c_rank);
    const MassMoment above{total - below.mass, total_moment - below.moment};
    return (below.mass * c - below.moment) + (above.moment - above.mass * c);
  }
};

// Ranks of all heights that either side visits; height 0 has rank 0.
std::size_t rank_heights(Side& one, Side& two) {
  std::vector<std::int64_t> visited;
  visited.reserve(one.events.count + two.events.count);
  for (Side* side : {&one, &two}) {
    std::vector<std::int64_t> now(side->events.rows, 0);
    for (std::size_t e = 0; e < side->events.count; ++e) {
      visited.push_back(now[side->events.row[e]] += side->events.jump[e]);
    }
  }
  std::vector<double> keys(visited.begin(), visited.end()), sorted(visited.size());
  std::vector<std::int64_t> order(visited.size());
  argsort(keys.data(), keys.size(), sorted.data(), order.data(), 1);
  std::size_t rank = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k == 0 ? sorted[k] > 0 : sorted[k] > sorted[k - 1]) ++rank;
    const auto e = static_cast<std::size_t>(order[k]);
    if (e < one.events.count) {
      one.target[e] = rank;
    } else {
      two.target[e - one.events.count] = rank;
    }
  }
  return rank + 1;
}

}  // namespace

double fenwick_expected_cost(const Events& x, const Events& y) {
  Side one(x), two(y);
  const std::size_t ranks = rank_heights(one, two);
  for (Side* side : {&one, &two}) {
    side->tree = MassTree(ranks);
    for (std::size_t r = 0; r < side->events.rows; ++r) {
      side->add(r, side->events.mass[r]);
      side->total += side->events.mass[r];
    }
  }
  const double low = std::min(x.position[0], y.position[0]);
  if (!std::isfinite(std::max(x.position[x.count - 1], y.position[y.count - 1]) - low)) {
    return std::numeric_limits<double>::infinity();
  }
  double W = 0, f = 0;
  std::size_t i = 0, j = 0;
  auto position = [&] {  // s_l, the next change point
    return i < x.count && (j == y.count || x.position[i] <= y.position[j]) ? x.position[i] : y.position[j];
  };
  while (i < x.count || j < y.count) {
    if ((i + j) % kEventsBetweenChecks == 0) check_interrupt();
    const double s = position();
    const bool first = i < x.count && (j == y.count || x.position[i] <= y.position[j]);
    Side& own = first ? one : two;
    const Side& other = first ? two : one;
    const std::size_t event = first ? i++ : j++;
    const std::size_t row = own.events.row[event];
    const double mass = own.events.mass[row];
    f -= mass * other.variation(static_cast<double>(own.height[row]), own.rank[row]);
    own.add(row, -mass);
    own.height[row] += own.events.jump[event];
    own.rank[row] = own.target[event];
    own.add(row, mass);
    f += mass * other.variation(static_cast<double>(own.height[row]), own.rank[row]);
    if (i < x.count || j < y.count) W += (position() - s) * (f * kHeightUnit);
  }
  return W;
}

}  // namespace anchorot
