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
#include <array>
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
  bool at_once = false;              // whether most rows move, at one moment
  std::vector<std::uint32_t> start;  // places of all rows: before the first move, or after that moment
  std::vector<LabelMove> moves;
  std::vector<LabelGroup> groups;
  double next;
  // What finish() adds.
  std::vector<std::uint32_t> order;
  std::vector<double> place, step;
  LabelWay way = LabelWay::kAfresh;

  void finish(const PlaceMoves& all) {
    if (at_once) return put_in_order(all);
    name_places(all);
    std::size_t all_passed = 0;
    for (const LabelMove& move : moves) all_passed += passed(move.from, move.to);
    way = SweepSteps(groups.size(), moves.size(), all_passed, place.size()).way();
  }

  LabelStretch view(double first) const {
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
            way};
  }

 private:
  void put_in_order(const PlaceMoves& all) {
    order.resize(all.rows);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return start[a] < start[b]; });
    step.resize(all.rows, 0.0);
    for (std::size_t k = 0; k + 1 < all.rows; ++k) {
      step[k] = all.place[start[order[k + 1]]] - all.place[start[order[k]]];
    }
    moves.clear();
  }

  // Where the stretch visits few of all places, number those anew.
  void name_places(const PlaceMoves& all) {
    std::vector<std::uint32_t> visited(all.places);
    std::iota(visited.begin(), visited.end(), 0u);
    if (all.places > all.rows + moves.size()) {
      visited = start;
      for (const LabelMove& move : moves) visited.push_back(move.to);
      std::sort(visited.begin(), visited.end());
      visited.erase(std::unique(visited.begin(), visited.end()), visited.end());
      auto rename = [&](std::uint32_t& number) {
        number = static_cast<std::uint32_t>(std::lower_bound(visited.begin(), visited.end(), number) - visited.begin());
      };
      for (std::uint32_t& number : start) rename(number);
      for (LabelMove& move : moves) {
        rename(move.from);
        rename(move.to);
      }
    }
    const double middle = 0.5 * all.place[visited.front()] + 0.5 * all.place[visited.back()];
    step.resize(visited.size(), 0.0);
    for (std::size_t v = 0; v < visited.size(); ++v) {
      place.push_back(all.place[visited[v]] - middle);
      if (v + 1 < visited.size()) step[v] = all.place[visited[v + 1]] - all.place[visited[v]];
    }
  }
};

// Cuts the moves into stretches, which are still to be finished.
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
      schedule.at_once = true;
      add_group(schedule);
      schedule.start = now_;
    }
    while (!schedule.at_once && !done() && schedule.moves.size() < length_ && !most_rows_move(moves_, at_)) {
      add_group(schedule);
    }
    schedule.next = next_time();
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

  const PlaceMoves& moves_;
  std::vector<std::uint32_t> now_;  // place of every row
  std::size_t length_;
  std::size_t at_ = 0;
  bool begun_ = false;
};

// All stretches, in the order of time.
std::vector<Schedule> schedules_of(const PlaceMoves& moves, int threads) {
  std::vector<Schedule> schedules;
  Scheduler scheduler(moves);
  do {
    check_interrupt();
    schedules.push_back(scheduler.next());
  } while (!scheduler.done());
  parallel_for(schedules.size(), threads, [&](std::size_t s, std::size_t) { schedules[s].finish(moves); });
  return schedules;
}

constexpr std::size_t kMostParts = 8;  // that the stretches are dealt to, so that few labellings keep many threads busy

// The first stretch of each part, and the end of the last: parts of about as many moves, whatever the threads.
std::vector<std::size_t> parts_of(const std::vector<Schedule>& schedules) {
  std::size_t total = 0, done = 0;
  for (const Schedule& schedule : schedules) total += schedule.start.size() + schedule.moves.size();
  std::vector<std::size_t> first{0};
  for (std::size_t s = 0; s < schedules.size(); ++s) {
    if (done * kMostParts >= total * first.size() && s > 0) first.push_back(s);
    done += schedules[s].start.size() + schedules[s].moves.size();
  }
  first.push_back(schedules.size());
  return first;
}

using LabelSums = std::array<double, kLabelLanes>;

// One worker's memory.
struct LabelMemory {
  std::size_t group = std::numeric_limits<std::size_t>::max();  // whose masses are laid out
  std::vector<double> signed_mass;
  std::unique_ptr<double[]> scratch;

  // Signed masses of kLabelLanes labellings, for every row, in units of 1 / (size_x size_y): where all rows weigh
  // 1, masses are integers, so that what cancels, cancels exactly.
  void lay_out(const RowItems& items, const Labels& labels, double size_x, double size_y, std::size_t wanted) {
    if (std::exchange(group, wanted) == wanted) return;
    const std::size_t first = wanted * kLabelLanes, lanes = std::min(kLabelLanes, labels.count - first);
    signed_mass.assign(items.rows * kLabelLanes, 0.0);
    for (std::size_t r = 0; r < items.rows; ++r) {
      const std::uint8_t* in_x = labels.in_x + first * labels.items + items.item[r];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const double size = in_x[lane * labels.items] ? size_y : -size_x;
        signed_mass[r * kLabelLanes + lane] = size * items.mass[r];
      }
    }
  }
};

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
  const std::vector<Schedule> schedules = schedules_of(moves, threads);
  const std::vector<std::size_t> part = parts_of(schedules);
  std::size_t places = 0;
  for (const Schedule& schedule : schedules) places = std::max(places, schedule.place.size());
  const auto size_x = static_cast<double>(std::count(labels.in_x, labels.in_x + labels.items, 1));
  const double size_y = static_cast<double>(labels.items) - size_x;
  const std::size_t parts = part.size() - 1, groups = (labels.count + kLabelLanes - 1) / kLabelLanes;
  std::vector<LabelSums> sums(groups * parts, LabelSums{});
  std::vector<LabelMemory> memory(worker_count(sums.size(), threads));
  parallel_for(sums.size(), threads, [&](std::size_t task, std::size_t worker) {
    LabelMemory& own = memory[worker];
    own.lay_out(items, labels, size_x, size_y, task / parts);
    if (!own.scratch) own.scratch.reset(new double[label_scratch(places)]);
    LabelSums integral{};
    for (std::size_t s = part[task % parts]; s < part[task % parts + 1]; ++s) {
      check_interrupt();
      const LabelStretch stretch = schedules[s].view(moves.begin);
      simd_kernels().label.sweep(stretch, own.signed_mass.data(), own.scratch.get(), integral.data());
    }
    sums[task] = integral;
  });
  const double unit = size_x * size_y;
  for (std::size_t k = 0; k < labels.count; ++k) {
    const LabelSums* of_group = &sums[k / kLabelLanes * parts];
    double integral = 0;
    for (std::size_t p = 0; p < parts; ++p) integral += of_group[p][k % kLabelLanes];  // in the order of time
    out[k] = 2 * (integral / unit / unit);
  }
}

}  // namespace anchorot
