// Energy distances of one pool of 1-D measures under many labellings: which measures form the first collection and
// which the second.
//
// Measures are rows that stand at places on a line and move as time goes on: CDF heights while the position x runs over
// the line, or quantiles while the level t runs from 0 to 1, whichever has fewer moments. A labelling gives row r a
// signed mass s_r: positive in the first collection, negative in the second. With D(z) = sum of s_r over the rows at
// places up to z,
//
//     energy distance = 2 integral over time and z of D(z)^2 .
//
// The places, their order and all moves are the same whatever the labels; only the masses differ. So the moves are
// worked out once, and kLanes labellings are swept side by side:
//  - where most rows move at once (samples of equal sizes) the integral of D^2 is one pass over the rows in order;
//  - where moments are few (degrees, clustering coefficients) the masses are counted by place, and the integral is one
//    pass over the places at each moment;
//  - elsewhere a Fenwick tree of masses and first moments over the places gives the change of every move in O(log).
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "parallel.hpp"
#include "simd_kernels.hpp"

namespace anchorot {
namespace {

// The moves of one stretch of time, with the places that they visit.
struct Plan {
  std::vector<std::uint32_t> order;
  std::vector<double> place, step;
  std::vector<std::uint32_t> start;
  std::vector<LabelMove> moves;
  std::vector<LabelGroup> groups;
  double next;

  LabelStretch view(double first) const {
    // Passes over all places, against paths up and down the tree: measured in units of one place in a pass.
    const double places = static_cast<double>(place.size()), moving = static_cast<double>(moves.size());
    const bool few_moments = static_cast<double>(groups.size()) * places + 4 * moving <= moving * (10 + 6 * std::log2(places));
    return {order.empty() ? nullptr : order.data(),
            place.data(),
            step.data(),
            place.size(),
            start.data(),
            start.size(),
            moves.data(),
            groups.data(),
            groups.size(),
            first,
            next,
            few_moments};
  }
};

// Cuts the moves into stretches.
class Planner {
 public:
  explicit Planner(const Moves& moves)
      : moves_(moves), now_(moves.start, moves.start + moves.rows), length_(std::max<std::size_t>(32768, moves.rows)) {}

  bool done() const { return at_ == moves_.count; }

  Plan next() {
    Plan plan;
    plan.start = now_;
    const bool begins = !std::exchange(begun_, true);
    if (begins && (done() || moves_.begin < moves_.time[0])) {
      plan.groups.push_back({moves_.begin, 0});
    } else if (most_rows_move()) {
      add_group(plan);
      plan.next = next_time();
      put_in_order(plan);
      return plan;
    }
    while (!done() && plan.moves.size() < length_ && !most_rows_move()) add_group(plan);
    plan.next = next_time();
    name_places(plan);
    return plan;
  }

 private:
  double next_time() const { return done() ? moves_.end : moves_.time[at_]; }

  // Whether half of the rows move now, to more places than are worth counting by.
  bool most_rows_move() const {
    const std::size_t half = at_ + (moves_.rows + 1) / 2;
    return moves_.places > moves_.rows && half <= moves_.count && moves_.time[half - 1] == moves_.time[at_];
  }

  void add_group(Plan& plan) {
    const double time = moves_.time[at_];
    for (; !done() && moves_.time[at_] == time; ++at_) {
      const std::uint32_t row = moves_.row[at_], target = moves_.target[at_];
      plan.moves.push_back({row, now_[row], target});
      now_[row] = target;
    }
    plan.groups.push_back({time, plan.moves.size()});
  }

  void put_in_order(Plan& plan) const {
    plan.order.resize(moves_.rows);
    std::iota(plan.order.begin(), plan.order.end(), 0u);
    std::sort(plan.order.begin(), plan.order.end(), [&](std::uint32_t a, std::uint32_t b) { return now_[a] < now_[b]; });
    plan.step.resize(moves_.rows, 0.0);
    for (std::size_t k = 0; k + 1 < moves_.rows; ++k) {
      plan.step[k] = moves_.place[now_[plan.order[k + 1]]] - moves_.place[now_[plan.order[k]]];
    }
    plan.moves.clear();
  }

  // Where the stretch visits few of all places, number those anew.
  void name_places(Plan& plan) const {
    std::vector<std::uint32_t> visited(moves_.places);
    std::iota(visited.begin(), visited.end(), 0u);
    if (moves_.places > moves_.rows + plan.moves.size()) {
      visited = plan.start;
      for (const LabelMove& move : plan.moves) visited.push_back(move.to);
      std::sort(visited.begin(), visited.end());
      visited.erase(std::unique(visited.begin(), visited.end()), visited.end());
      auto rename = [&](std::uint32_t& place) {
        place = static_cast<std::uint32_t>(std::lower_bound(visited.begin(), visited.end(), place) - visited.begin());
      };
      for (std::uint32_t& place : plan.start) rename(place);
      for (LabelMove& move : plan.moves) {
        rename(move.from);
        rename(move.to);
      }
    }
    for (const std::uint32_t place : visited) plan.place.push_back(moves_.place[place]);
    plan.step.resize(plan.place.size(), 0.0);
    for (std::size_t v = 0; v + 1 < plan.place.size(); ++v) plan.step[v] = plan.place[v + 1] - plan.place[v];
  }

  const Moves& moves_;
  std::vector<std::uint32_t> now_;  // place of every row
  std::size_t length_;
  std::size_t at_ = 0;
  bool begun_ = false;
};

// Signed masses of kLanes labellings, for every row. Masses are in units of 1 / (size_x size_y): where all rows weigh 1
// they are integers, so that what cancels, cancels exactly.
void lay_out(const Items& items, const Labels& labels, std::size_t first, std::vector<double>& signed_mass) {
  std::fill(signed_mass.begin(), signed_mass.end(), 0.0);
  const std::size_t lanes = std::min(kLanes, labels.count - first);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::uint8_t* in_x = labels.in_x + (first + lane) * labels.items;
    for (std::size_t r = 0; r < items.rows; ++r) {
      const double size = in_x[items.item[r]] ? labels.size_y : -labels.size_x;
      signed_mass[r * kLanes + lane] = size * items.mass[r];
    }
  }
}

}  // namespace

void labelled_energies(const Moves& moves, const Items& items, const Labels& labels, double* out, int threads) {
  std::vector<Plan> plans;
  Planner planner(moves);
  do plans.push_back(planner.next());
  while (!planner.done());
  std::size_t places = 0;
  for (const Plan& plan : plans) places = std::max(places, plan.place.size());
  const std::size_t tasks = (labels.count + kLanes - 1) / kLanes;
  struct Memory {
    std::vector<double> signed_mass;
    std::unique_ptr<double[]> scratch;
  };
  std::vector<Memory> memory(worker_count(tasks, threads));
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t worker) {
    Memory& own = memory[worker];
    own.signed_mass.resize(items.rows * kLanes);
    if (!own.scratch) own.scratch.reset(new double[label_scratch(places)]);
    lay_out(items, labels, task * kLanes, own.signed_mass);
    double integral[kLanes] = {};
    for (const Plan& plan : plans) {
      simd_kernels().label.sweep(plan.view(moves.begin), own.signed_mass.data(), own.scratch.get(), integral);
    }
    const double unit = labels.size_x * labels.size_y;
    for (std::size_t lane = 0; lane < kLanes && task * kLanes + lane < labels.count; ++lane) {
      out[task * kLanes + lane] = 2 * (integral[lane] / unit / unit);
    }
  });
}

}  // namespace anchorot
