// The CDF heights of all rows, lifted one event at a time, with the energy that they have; see sweep.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "fenwick.hpp"
#include "portable.hpp"
#include "stretches.hpp"

namespace anchorot {

// Past this many entries passed an event on average, a stretch goes to the Fenwick tree.
constexpr std::size_t kManyCrossings = 400;
constexpr std::size_t kPatience = 16384;  // events' worth of crossings that a stretch may have besides

// The sorted heights of all rows, moved one event at a time.
class SortedHeights {
 public:
  SortedHeights(const std::vector<std::int64_t>& heights, const std::vector<double>& signed_mass)
      : mass_(signed_mass), entries_(heights.size() + 1), row_(heights.size() + 1), place_(heights.size()) {
    std::iota(row_.begin(), row_.end(), 0u);
    std::sort(row_.begin(), row_.end() - 1, [&](std::uint32_t a, std::uint32_t b) {
      return heights[a] < heights[b] || (heights[a] == heights[b] && a < b);
    });
    double d = 0;
    for (std::size_t k = 0; k < place_.size(); ++k) {
      place_[row_[k]] = static_cast<std::uint32_t>(k);
      entries_[k] = {heights[row_[k]], d += mass_[row_[k]]};
    }
    entries_.back() = {std::numeric_limits<std::int64_t>::max(), 0};  // above all heights
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
    std::size_t k = place_[row];
    std::int64_t here = entries_[k].height;
    if (entries_[k + 1].height == here) [[unlikely]] k = change_with_last_of_equals(k);
    Entry* entry = &entries_[k];
    std::uint32_t* passed = &row_[k];
    if (k > 0 && entry[-1].height == here) [[unlikely]] entry[-1].d = entry->d - s;
    const std::int64_t target = here + jump;
    double d = entry->d;
    double area = 0;  // integral of D from the old height to the new
    crossings_ -= k;
    for (; entry[1].height < target; ++entry, ++passed, ++k) {
      area += static_cast<double>(entry[1].height - here) * d;
      here = entry[1].height;
      d = entry[1].d;
      *entry = {here, d - s};
      *passed = passed[1];
      place_[*passed] = static_cast<std::uint32_t>(k);
    }
    crossings_ += k;
    area += static_cast<double>(target - here) * d;
    *entry = {target, d};
    *passed = row;
    place_[row] = static_cast<std::uint32_t>(k);
    return s * (s * static_cast<double>(jump) - 2 * area);
  }

  // Bring what lift(row, ...) will touch into the nearest cache: first what is known of the row, then its entry.
  void prepare_place(std::uint32_t row) const {
    portable::prefetch(&place_[row]);
    portable::prefetch(&mass_[row]);
  }
  void prepare_entry(std::uint32_t row) const { portable::prefetch(&entries_[place_[row]]); }

  bool overwhelmed(std::size_t events) const { return crossings_ > kManyCrossings * (events + kPatience); }

 private:
  struct Entry {
    std::int64_t height;
    double d;  // D from this height to the next; right only in the last of equal heights
  };

  // Give place k to the row of the last entry of equal height, which may be left without a gap; returns that entry.
  std::size_t change_with_last_of_equals(std::size_t k) {
    const std::size_t last = last_of_equals(k);
    row_[k] = row_[last];
    place_[row_[k]] = static_cast<std::uint32_t>(k);
    return last;
  }

  // By doubling steps, then bisection: on graph distances thousands of heights are equal.
  std::size_t last_of_equals(std::size_t k) const {
    const std::int64_t height = entries_[k].height;
    std::size_t other = entries_.size() - 1;  // the nearest entry known to be higher
    for (std::size_t step = 1; other - k > step; step *= 2) {
      if (entries_[k + step].height != height) {
        other = k + step;
        break;
      }
      k += step;
    }
    while (other - k > 1) {
      const std::size_t middle = k + (other - k) / 2;
      (entries_[middle].height == height ? k : other) = middle;
    }
    return k;
  }

  const std::vector<double>& mass_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> row_, place_;  // the row of every entry, the entry of every row
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

}  // namespace anchorot
