// Anchor Energy (p = 1) of two collections of weighted 1-D measures: the adaptive sweep.
//
// At position x every row r has a CDF height H_r(x) and a signed mass s_r (positive for the first collection,
// negative for the second). With D(h) = sum of s_r over the rows with H_r(x) <= h and f(x) = integral of D(h)^2 dh,
//
//     AE_1 = 2 integral f(x) dx .
//
// The heights are kept as one sorted array, with D beside them. An event lifts one row from h to h + w past the few
// entries in between, D falls by s_r there, and
//
//     f changes by  s_r^2 w - 2 s_r integral_h^{h+w} D .
//
// How many entries an event passes depends on how far the CDFs lie apart, not on how many there are; where they
// lie so close that it passes hundreds, the stretch is swept again with a Fenwick tree, O(log) an event.
//
// Rounding. Heights are integers, so equal heights are equal. f is computed afresh, as a sum of squares, at the
// start of every stretch and before every gap that is long compared with the way come so far (there are at most
// about rows * log(range) of those): what is left of cancelled updates never meets a large gap.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "fenwick.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace anchorot {
namespace {

// Past this many entries passed an event on average, a stretch goes to the Fenwick tree.
constexpr std::size_t kManyCrossings = 400;

// Both collections as one set of rows: first the rows of x, then those of y with negative mass.
struct Rows {
  std::vector<double> signed_mass;
  std::size_t offset_y;  // the first row of y
  Rows(const Events& x, const Events& y) : signed_mass(x.mass, x.mass + x.rows), offset_y(x.rows) {
    for (std::size_t r = 0; r < y.rows; ++r) signed_mass.push_back(-y.mass[r]);
  }
  std::size_t count() const { return signed_mass.size(); }
};

// A run of events, from (x_begin, y_begin) on in the merged order, and all heights before it.
struct Stretch {
  std::size_t x_begin, y_begin, x_end, y_end;
  std::vector<std::int64_t> heights;
};

// Cut the line at positions, so that no event at a cut position lies before it.
std::vector<Stretch> stretches(const Events& x, const Events& y, const Rows& rows) {
  const std::size_t length = std::max<std::size_t>(32768, 64 * rows.count());
  std::vector<double> cuts;
  for (const Events* side : {&x, &y}) {
    for (std::size_t i = 0; i < side->count; i += length) cuts.push_back(side->position[i]);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  auto index = [](const Events& side, double cut) {
    return static_cast<std::size_t>(std::lower_bound(side.position, side.position + side.count, cut) - side.position);
  };
  std::vector<Stretch> result;
  std::vector<std::int64_t> heights(rows.count(), 0);
  std::size_t i = 0, j = 0;
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    for (const std::size_t end = index(x, cuts[c]); i < end; ++i) heights[x.row[i]] += x.jump[i];
    for (const std::size_t end = index(y, cuts[c]); j < end; ++j) heights[rows.offset_y + y.row[j]] += y.jump[j];
    const bool last = c + 1 == cuts.size();
    result.push_back({i, j, last ? x.count : index(x, cuts[c + 1]), last ? y.count : index(y, cuts[c + 1]), heights});
  }
  return result;
}

// The sorted heights of all rows, moved one event at a time.
class SortedHeights {
 public:
  SortedHeights(const std::vector<std::int64_t>& heights, const std::vector<double>& signed_mass)
      : mass_(signed_mass), entries_(heights.size() + 1), place_(heights.size()) {
    std::vector<std::uint32_t> row(heights.size());
    std::iota(row.begin(), row.end(), 0u);
    std::sort(row.begin(), row.end(), [&](std::uint32_t a, std::uint32_t b) {
      return heights[a] < heights[b] || (heights[a] == heights[b] && a < b);
    });
    double d = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      place_[row[k]] = static_cast<std::uint32_t>(k);
      entries_[k] = {heights[row[k]], d += mass_[row[k]], row[k]};
    }
    entries_.back() = {std::numeric_limits<std::int64_t>::max(), 0, 0};  // above all heights
  }

  // integral of D^2, as a sum of squares
  double energy() const {
    double sum = 0;
    for (std::size_t k = 0; k + 2 < entries_.size(); ++k) {
      sum += static_cast<double>(entries_[k + 1].height - entries_[k].height) * (entries_[k].d * entries_[k].d);
    }
    return sum;
  }

  // Lift `row` by `jump`; returns by how much the energy changes.
  double lift(std::uint32_t row, std::int64_t jump) {
    const double s = mass_[row];
    Entry* entry = last_of_equals(&entries_[place_[row]]);
    if (entry->row != row) {  // leave from the end: equal heights may change places
      place_[entry->row] = place_[row];
      entries_[place_[row]].row = entry->row;
    }
    if (entry != entries_.data() && entry[-1].height == entry->height) entry[-1].d = entry->d - s;
    std::int64_t here = entry->height;
    const std::int64_t target = here + jump;
    double d = entry->d;
    double area = 0;  // integral of D from the old height to the new
    for (; entry[1].height < target; ++entry) {
      area += static_cast<double>(entry[1].height - here) * d;
      here = entry[1].height;
      d = entry[1].d;
      *entry = {here, d - s, entry[1].row};
      place_[entry->row] = static_cast<std::uint32_t>(entry - entries_.data());
      ++crossings_;
    }
    area += static_cast<double>(target - here) * d;
    *entry = {target, d, row};
    place_[row] = static_cast<std::uint32_t>(entry - entries_.data());
    return s * (s * static_cast<double>(jump) - 2 * area);
  }

  // Bring what lift(row, ...) will touch into the nearest cache: first the row's place, then its entry.
  void prepare_place(std::uint32_t row) const { __builtin_prefetch(&place_[row]); }
  void prepare_entry(std::uint32_t row) const { __builtin_prefetch(&entries_[place_[row]]); }

  bool overwhelmed(std::size_t events) const { return crossings_ > kManyCrossings * (events + 16384); }

 private:
  struct Entry {
    std::int64_t height;
    double d;  // D from this height to the next; right only in the last of equal heights
    std::uint32_t row;
  };

  // By doubling steps, then bisection: on graph distances thousands of heights are equal.
  Entry* last_of_equals(Entry* entry) {
    const std::int64_t height = entry->height;
    if (entry[1].height != height) return entry;
    Entry* other = &entries_.back();  // the nearest entry known to be higher
    for (std::ptrdiff_t step = 2; other - entry > step; step *= 2) {
      if (entry[step].height != height) {
        other = entry + step;
        break;
      }
      entry += step;
    }
    while (other - entry > 1) {
      Entry* middle = entry + (other - entry) / 2;
      (middle->height == height ? entry : other) = middle;
    }
    return entry;
  }

  const std::vector<double>& mass_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> place_;  // of every row
  std::size_t crossings_ = 0;
};

// The same, with a tree over the ranks of all heights that the stretch will visit.
class TreeHeights {
 public:
  TreeHeights(const Stretch& stretch, const Events& x, const Events& y, const Rows& rows)
      : mass_(rows.signed_mass),
        height_(stretch.heights),
        rank_(rows.count()),
        order_(rows.count()),
        visited_(stretch.heights) {
    std::vector<std::int64_t> now = stretch.heights;
    for (std::size_t i = stretch.x_begin; i < stretch.x_end; ++i) visited_.push_back(now[x.row[i]] += x.jump[i]);
    for (std::size_t j = stretch.y_begin; j < stretch.y_end; ++j) {
      visited_.push_back(now[rows.offset_y + y.row[j]] += y.jump[j]);
    }
    std::sort(visited_.begin(), visited_.end());
    visited_.erase(std::unique(visited_.begin(), visited_.end()), visited_.end());
    tree_ = MassTree(visited_.size());
    for (std::uint32_t r = 0; r < mass_.size(); ++r) {
      move_to(r, height_[r]);
      add(r, mass_[r]);
    }
    std::iota(order_.begin(), order_.end(), 0u);
  }

  double energy() {
    sort_rows();
    double sum = 0, d = 0;
    for (std::size_t k = 0; k + 1 < order_.size(); ++k) {
      d += mass_[order_[k]];
      sum += static_cast<double>(height_[order_[k + 1]] - height_[order_[k]]) * (d * d);
    }
    return sum;
  }

  double lift(std::uint32_t row, std::int64_t jump) {
    ++lifts_;
    const double s = mass_[row], below = primitive(row), lifted = static_cast<double>(jump);
    add(row, -s);
    move_to(row, height_[row] + jump);
    // Of the row itself, while it was at its old height, the integral up to the new one had s * jump.
    const double area = primitive(row) + s * lifted - below;
    add(row, s);
    return s * (s * lifted - 2 * area);
  }

  void prepare_place(std::uint32_t) const {}
  void prepare_entry(std::uint32_t) const {}
  bool overwhelmed(std::size_t) const { return false; }

 private:
  void move_to(std::uint32_t row, std::int64_t height) {
    height_[row] = height;
    const auto found = std::lower_bound(visited_.begin(), visited_.end(), height);
    rank_[row] = static_cast<std::size_t>(found - visited_.begin());
  }
  void add(std::uint32_t row, double mass) {
    tree_.add(rank_[row], {mass, mass * static_cast<double>(height_[row])});
  }
  // integral of D up to the row's height: sum of s (h - H) over the rows below
  double primitive(std::uint32_t row) const {
    const MassMoment m = tree_.up_to(rank_[row]);
    return m.mass * static_cast<double>(height_[row]) - m.moment;
  }

  // Between two large gaps only few rows move: put those in their new place.
  void sort_rows() {
    if (lifts_ > kFewLifts) {
      std::sort(order_.begin(), order_.end(),
                [&](std::uint32_t a, std::uint32_t b) { return height_[a] < height_[b]; });
    } else {
      for (std::size_t k = 1; k < order_.size(); ++k) {
        const std::uint32_t row = order_[k];
        std::size_t place = k;
        for (; place > 0 && height_[order_[place - 1]] > height_[row]; --place) order_[place] = order_[place - 1];
        order_[place] = row;
      }
    }
    lifts_ = 0;
  }

  static constexpr std::size_t kFewLifts = 32;
  const std::vector<double>& mass_;
  std::vector<std::int64_t> height_;
  std::vector<std::size_t> rank_;
  std::vector<std::uint32_t> order_;  // rows by height, as of the last energy()
  std::size_t lifts_ = kFewLifts + 1;  // since then
  std::vector<std::int64_t> visited_;  // ascending
  MassTree tree_{0};
};

// The events of a stretch in their merged order; next() is free of branches on the data.
class MergedEvents {
 public:
  struct Event {
    double position;
    std::uint32_t row;
    std::int64_t jump;
  };

  MergedEvents(const Stretch& stretch, const Events& x, const Events& y, const Rows& rows)
      : sides_{{x, 0, stretch.x_begin, stretch.x_end},
               {y, static_cast<std::uint32_t>(rows.offset_y), stretch.y_begin, stretch.y_end}} {}

  std::size_t left() const { return (sides_[0].end - sides_[0].at) + (sides_[1].end - sides_[1].at); }

  Event next() {
    Side& side = sides_[sides_[0].position() > sides_[1].position()];
    const std::size_t i = side.at++;
    return {side.events.position[i], side.offset + side.events.row[i], side.events.jump[i]};
  }

  // Calls prepare(row) for the rows of the events `ahead` from here on either side.
  template <class Prepare>
  void look_ahead(std::size_t ahead, Prepare prepare) const {
    for (const Side& side : sides_) {
      if (side.at + ahead < side.end) prepare(side.offset + side.events.row[side.at + ahead]);
    }
  }

  // Where the event after this stretch lies, or `otherwise` if there is none.
  double position_after(double otherwise) const {
    double position = std::numeric_limits<double>::infinity();
    for (const Side& side : sides_) {
      if (side.end < side.events.count) position = std::min(position, side.events.position[side.end]);
    }
    return position < std::numeric_limits<double>::infinity() ? position : otherwise;
  }

 private:
  struct Side {
    const Events& events;
    std::uint32_t offset;
    std::size_t at, end;
    double position() const { return at < end ? events.position[at] : std::numeric_limits<double>::infinity(); }
  };
  Side sides_[2];
};

// integral of f over a stretch and the gap after it; false if the heights were overwhelmed.
template <class Heights>
bool sweep(Heights& heights, MergedEvents events, double start, double share, double& sum) {
  double f = heights.energy(), here = std::numeric_limits<double>::infinity();
  sum = 0;
  auto advance = [&](double next) {
    const double gap = next - here;
    if (gap > share * (next - start)) f = heights.energy();
    if (gap > 0 && f > 0) sum += gap * (f * kHeightUnit);
    here = next;
  };
  for (std::size_t done = 0; events.left() > 0; ++done) {
    events.look_ahead(16, [&](std::uint32_t row) { heights.prepare_place(row); });
    events.look_ahead(6, [&](std::uint32_t row) { heights.prepare_entry(row); });
    const MergedEvents::Event event = events.next();
    advance(event.position);
    f += heights.lift(event.row, event.jump);
    if ((done & 1023) == 1023 && heights.overwhelmed(done)) return false;
  }
  advance(events.position_after(here));
  return true;
}

}  // namespace

double sweep_energy(const Events& x, const Events& y, int threads) {
  const Rows rows(x, y);
  const std::vector<Stretch> all = stretches(x, y, rows);
  const double start = std::min(x.position[0], y.position[0]);
  const double share = 1.0 / static_cast<double>(rows.count());
  std::vector<double> part(all.size());
  parallel_for(all.size(), threads, [&](std::size_t k, std::size_t) {
    const MergedEvents events(all[k], x, y, rows);
    SortedHeights sorted(all[k].heights, rows.signed_mass);
    if (sweep(sorted, events, start, share, part[k])) return;
    TreeHeights tree(all[k], x, y, rows);
    sweep(tree, events, start, share, part[k]);
  });
  // In the order of stretches, whatever the threads.
  return 2 * std::accumulate(part.begin(), part.end(), 0.0);
}

}  // namespace anchorot
