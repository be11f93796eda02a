// SL-AE as the paper prints it (Algorithms 1 and 2): the expected cost E[OT_1] between the anchors of two spaces.
//
// A line sweeps over all jumps of all CDFs; at each jump one height changes, and sums of |c - H| over the heights H of
// the other space come from Fenwick trees S (masses) and T (masses times heights). Two things differ from the printed
// lines: S starts with the total mass at height 0 (the printed 0 gives wrong results), and the trees range over all
// heights that occur, ranked, so that weights may be any.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

struct Event {
  double position;
  std::uint32_t side, row, rank;  // rank: of the height that the event leads to
  double height;
};

struct Side {
  const double* weights;
  std::vector<double> height;       // H[k][i]
  std::vector<std::uint32_t> rank;  // of those heights
  std::vector<double> S, T;         // Fenwick trees over ranks
  double total = 0, total_moment = 0;

  void add(std::size_t row, double mass) {
    const double moment = mass * height[row];
    for (std::size_t k = rank[row] + 1; k < S.size(); k += k & (~k + 1)) S[k] += mass, T[k] += moment;
    total += mass, total_moment += moment;
  }

  // sum over rows i of a_i |c - H_i|, by the four partial sums of Proposition 2
  double variation(double c, std::size_t c_rank) const {
    double mass = 0, moment = 0;
    for (std::size_t k = c_rank + 1; k > 0; k -= k & (~k + 1)) mass += S[k], moment += T[k];
    return (mass * c - moment) + ((total_moment - moment) - (total - mass) * c);
  }
};

void add_events(const double* cost, const double* weights, std::size_t n, std::uint32_t side, std::vector<Event>& out) {
  std::vector<std::uint32_t> order(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) order[j] = static_cast<std::uint32_t>(j);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return cost[i * n + a] < cost[i * n + b]; });
    double height = 0;
    for (const auto j : order) {
      height += weights[j];
      out.push_back({cost[i * n + j], side, static_cast<std::uint32_t>(i), 0, height});
    }
  }
}

std::size_t rank_heights(std::vector<Event>& events) {
  std::vector<double> heights{0.0};
  for (const Event& event : events) heights.push_back(event.height);
  std::sort(heights.begin(), heights.end());
  heights.erase(std::unique(heights.begin(), heights.end()), heights.end());
  for (Event& event : events) {
    const auto found = std::lower_bound(heights.begin(), heights.end(), event.height);
    event.rank = static_cast<std::uint32_t>(found - heights.begin());
  }
  return heights.size();
}

}  // namespace

extern "C" double expected_cost(const double* cost_x, const double* weights_x, std::size_t n, const double* cost_y,
                                const double* weights_y, std::size_t m) {
  std::vector<Event> events;
  events.reserve(n * n + m * m);
  add_events(cost_x, weights_x, n, 0, events);
  add_events(cost_y, weights_y, m, 1, events);
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.position < b.position; });
  const std::size_t ranks = rank_heights(events);
  Side sides[2] = {{weights_x, {}, {}, {}, {}}, {weights_y, {}, {}, {}, {}}};
  const std::size_t rows[2] = {n, m};
  for (int k = 0; k < 2; ++k) {
    Side& side = sides[k];
    side.height.assign(rows[k], 0.0), side.rank.assign(rows[k], 0);
    side.S.assign(ranks + 1, 0.0), side.T.assign(ranks + 1, 0.0);
    for (std::size_t i = 0; i < rows[k]; ++i) side.add(i, side.weights[i]);
  }
  double W = 0, f = 0;
  for (std::size_t l = 0; l < events.size(); ++l) {
    const Event& event = events[l];
    Side& own = sides[event.side];
    const Side& other = sides[1 - event.side];
    const double mass = own.weights[event.row];
    f -= mass * other.variation(own.height[event.row], own.rank[event.row]);
    own.add(event.row, -mass);
    own.height[event.row] = event.height, own.rank[event.row] = event.rank;
    own.add(event.row, mass);
    f += mass * other.variation(event.height, event.rank);
    if (l + 1 < events.size()) W += (events[l + 1].position - event.position) * f;
  }
  return W;
}
