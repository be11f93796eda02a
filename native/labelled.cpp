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
// worked out once, and kLabelLanes labellings are swept side by side:
//  - where most rows move at once (samples of equal sizes) the integral of D^2 is one pass over the rows in order;
//  - where moments are few (degrees, clustering coefficients) the masses are counted by place, and the integral is one
//    pass over the places at each moment;
//  - where moves are short, D is kept for every place, and a move changes it at the places that it passes;
//  - elsewhere a Fenwick tree of masses and first moments over the places gives the change of every move in O(log).
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "simd_kernels.hpp"

namespace anchorot {
namespace {

// How long a stretch takes for one labelling, in passes over one place: passes over all places at every moment, or for
// every move one over the places that it passes, or paths up and down the tree. Measured.
struct SweepSteps {
  double afresh, passing, by_tree;
  SweepSteps(std::size_t moments, std::size_t moves, std::size_t passed, std::size_t places) {
    const auto size = static_cast<double>(places), moving = static_cast<double>(moves);
    afresh = static_cast<double>(moments) * size + kMoveSteps * moving;
    passing = kMoveSteps * moving + kPassingSteps * static_cast<double>(passed);
    by_tree = moving * (kTreeSteps + kTreeLevelSteps * std::log2(size));
  }
  double least() const { return std::min({afresh, passing, by_tree}); }
  LabelWay way() const {
    if (afresh <= least()) return LabelWay::kAfresh;
    return passing <= least() ? LabelWay::kPassing : LabelWay::kTree;
  }
  static constexpr double kMoveSteps = 4, kPassingSteps = 1.5, kTreeSteps = 10, kTreeLevelSteps = 6;
};

std::size_t passed(std::uint32_t from, std::uint32_t to) { return from < to ? to - from : from - to; }
constexpr double kOrderSteps = 3;             // one row, where all rows are put in order
constexpr std::size_t kCachedPlaces = 8192;   // whose masses, 128 bytes each, fit the second cache
constexpr double kUncachedSteps = 8;          // one step beyond

// Least number of moves that are swept with one set of places: as many as rows, which must be laid out before each
// stretch, or many more where all places fit the cache however long it is.
std::size_t stretch_length(const PlaceMoves& moves) {
  const std::size_t per_row = moves.places <= kCachedPlaces ? 16 : 1;
  return std::max<std::size_t>(32768, per_row * moves.rows);
}

// Whether half of the rows move at one time, from number `at` on, to more places than are worth counting by.
bool most_rows_move(const PlaceMoves& moves, std::size_t at) {
  const std::size_t half = at + (moves.rows + 1) / 2;
  return moves.places > moves.rows && half <= moves.count && moves.time[half - 1] == moves.time[at];
}

bool spans_are_finite(const PlaceMoves& moves) {
  return std::isfinite(moves.end - moves.begin) && std::isfinite(moves.place[moves.places - 1] - moves.place[0]);
}

// The moves of one stretch of time, with the places that they visit.
struct Schedule {
  std::vector<std::uint32_t> order;
  std::vector<double> place, step;
  std::vector<std::uint32_t> start;
  std::vector<LabelMove> moves;
  std::vector<LabelGroup> groups;
  double next;

  LabelStretch view(double first) const {
    std::size_t all_passed = 0;
    for (const LabelMove& move : moves) all_passed += passed(move.from, move.to);
    const SweepSteps steps(groups.size(), moves.size(), all_passed, place.size());
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
            steps.way()};
  }
};

// Cuts the moves into stretches.
class Scheduler {
 public:
  explicit Scheduler(const PlaceMoves& moves)
      : moves_(moves), now_(moves.start, moves.start + moves.rows), length_(stretch_length(moves)) {}

  bool done() const { return at_ == moves_.count; }

  Schedule next() {
    Schedule schedule;
    schedule.start = now_;
    const bool begins = !std::exchange(begun_, true);
    if (begins && (done() || moves_.begin < moves_.time[0])) {
      schedule.groups.push_back({moves_.begin, 0});
    } else if (most_rows_move(moves_, at_)) {
      add_group(schedule);
      schedule.next = next_time();
      put_in_order(schedule);
      return schedule;
    }
    while (!done() && schedule.moves.size() < length_ && !most_rows_move(moves_, at_)) add_group(schedule);
    schedule.next = next_time();
    name_places(schedule);
    return schedule;
  }

 private:
  double next_time() const { return done() ? moves_.end : moves_.time[at_]; }

  void add_group(Schedule& schedule) {
    const double time = moves_.time[at_];
    for (; !done() && moves_.time[at_] == time; ++at_) {
      const std::uint32_t row = moves_.row[at_], target = moves_.target[at_];
      schedule.moves.push_back({row, now_[row], target});
      now_[row] = target;
    }
    schedule.groups.push_back({time, schedule.moves.size()});
  }

  void put_in_order(Schedule& schedule) const {
    schedule.order.resize(moves_.rows);
    std::iota(schedule.order.begin(), schedule.order.end(), 0u);
    std::sort(schedule.order.begin(), schedule.order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return now_[a] < now_[b]; });
    schedule.step.resize(moves_.rows, 0.0);
    for (std::size_t k = 0; k + 1 < moves_.rows; ++k) {
      schedule.step[k] = moves_.place[now_[schedule.order[k + 1]]] - moves_.place[now_[schedule.order[k]]];
    }
    schedule.moves.clear();
  }

  // Where the stretch visits few of all places, number those anew.
  void name_places(Schedule& schedule) const {
    std::vector<std::uint32_t> visited(moves_.places);
    std::iota(visited.begin(), visited.end(), 0u);
    if (moves_.places > moves_.rows + schedule.moves.size()) {
      visited = schedule.start;
      for (const LabelMove& move : schedule.moves) visited.push_back(move.to);
      std::sort(visited.begin(), visited.end());
      visited.erase(std::unique(visited.begin(), visited.end()), visited.end());
      auto rename = [&](std::uint32_t& place) {
        place = static_cast<std::uint32_t>(std::lower_bound(visited.begin(), visited.end(), place) - visited.begin());
      };
      for (std::uint32_t& place : schedule.start) rename(place);
      for (LabelMove& move : schedule.moves) {
        rename(move.from);
        rename(move.to);
      }
    }
    const double middle = 0.5 * moves_.place[visited.front()] + 0.5 * moves_.place[visited.back()];
    schedule.step.resize(visited.size(), 0.0);
    for (std::size_t v = 0; v < visited.size(); ++v) {
      schedule.place.push_back(moves_.place[visited[v]] - middle);
      if (v + 1 < visited.size()) schedule.step[v] = moves_.place[visited[v + 1]] - moves_.place[visited[v]];
    }
  }

  const PlaceMoves& moves_;
  std::vector<std::uint32_t> now_;  // place of every row
  std::size_t length_;
  std::size_t at_ = 0;
  bool begun_ = false;
};

// Signed masses of kLabelLanes labellings, for every row, in units of 1 / (size_x size_y): where all rows weigh
// 1, masses are integers, so that what cancels, cancels exactly.
void lay_out(const RowItems& items, const Labels& labels, double size_x, double size_y, std::size_t first,
             std::vector<double>& signed_mass) {
  std::fill(signed_mass.begin(), signed_mass.end(), 0.0);
  const std::size_t lanes = std::min(kLabelLanes, labels.count - first);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::uint8_t* in_x = labels.in_x + (first + lane) * labels.items;
    for (std::size_t r = 0; r < items.rows; ++r) {
      const double size = in_x[items.item[r]] ? size_y : -size_x;
      signed_mass[r * kLabelLanes + lane] = size * items.mass[r];
    }
  }
}

}  // namespace

double labelled_steps(const PlaceMoves& moves) {
  std::size_t at_once = 0, moments = 0, moving = 0, all_passed = 0;
  std::vector<std::uint32_t> now(moves.start, moves.start + moves.rows);
  for (std::size_t at = 0, end = 0; at < moves.count; at = end) {
    std::size_t passed_now = 0;
    for (; end < moves.count && moves.time[end] == moves.time[at]; ++end) {
      passed_now += passed(now[moves.row[end]], moves.target[end]);
      now[moves.row[end]] = moves.target[end];
    }
    if (most_rows_move(moves, at)) {
      ++at_once;
    } else {
      ++moments;
      moving += end - at;
      all_passed += passed_now;
    }
  }
  const std::size_t places = std::min(moves.places, moves.rows + stretch_length(moves));
  const SweepSteps steps(moments, moving, all_passed, places);
  const double sweep = steps.least() * (places <= kCachedPlaces ? 1 : kUncachedSteps);
  return static_cast<double>(moves.rows) * (1 + kOrderSteps * static_cast<double>(at_once)) + sweep;
}

void labelled_energies(const PlaceMoves& moves, const RowItems& items, const Labels& labels, double* out, int threads) {
  if (!spans_are_finite(moves)) {
    std::fill(out, out + labels.count, std::numeric_limits<double>::infinity());
    return;
  }
  std::vector<Schedule> schedules;
  Scheduler scheduler(moves);
  do {
    check_interrupt();
    schedules.push_back(scheduler.next());
  } while (!scheduler.done());
  std::size_t places = 0;
  for (const Schedule& schedule : schedules) places = std::max(places, schedule.place.size());
  const auto size_x = static_cast<double>(std::count(labels.in_x, labels.in_x + labels.items, 1));
  const double size_y = static_cast<double>(labels.items) - size_x;
  const std::size_t tasks = (labels.count + kLabelLanes - 1) / kLabelLanes;
  struct Memory {
    std::vector<double> signed_mass;
    std::unique_ptr<double[]> scratch;
  };
  std::vector<Memory> memory(worker_count(tasks, threads));
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t worker) {
    Memory& own = memory[worker];
    own.signed_mass.resize(items.rows * kLabelLanes);
    if (!own.scratch) own.scratch.reset(new double[label_scratch(places)]);
    lay_out(items, labels, size_x, size_y, task * kLabelLanes, own.signed_mass);
    double integral[kLabelLanes] = {};
    for (const Schedule& schedule : schedules) {
      check_interrupt();
      simd_kernels().label.sweep(schedule.view(moves.begin), own.signed_mass.data(), own.scratch.get(), integral);
    }
    const double unit = size_x * size_y;
    for (std::size_t lane = 0; lane < kLabelLanes && task * kLabelLanes + lane < labels.count; ++lane) {
      out[task * kLabelLanes + lane] = 2 * (integral[lane] / unit / unit);
    }
  });
}

}  // namespace anchorot
