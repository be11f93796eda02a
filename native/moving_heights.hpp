// The CDF heights of all rows, lifted one event at a time, with the energy that they have; see sweep.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "fenwick.hpp"
#include "simd_kernels.hpp"
#include "stretches.hpp"

namespace anchorot {

// Past this many entries passed an event on average, a stretch goes to the Fenwick tree.
constexpr std::size_t kManyCrossings = 400;
constexpr std::size_t kPatience = 16384;  // events' worth of crossings that a stretch may have besides

// What the integral over the heights is of: D² or |D|.
struct SquaredHeights {
  static double of(double d) { return d * d; }
  static auto lift() { return simd_kernels().heights.lift; }
};
struct AbsoluteHeights {
  static double of(double d) { return std::fabs(d); }
  static auto lift() { return simd_kernels().heights.lift_magnitudes; }
};

// The sorted heights of all rows, moved one event at a time by height_lift.hpp.
template <class Norm>
class SortedHeights {
 public:
  SortedHeights(const std::vector<std::int64_t>& heights, const std::vector<double>& signed_mass)
      : mass_(signed_mass),
        height_(heights.size() + kLiftWidth + 2, std::numeric_limits<std::int64_t>::max()),
        d_(height_.size(), 0.0),
        row_(height_.size(), static_cast<std::uint32_t>(heights.size())),
        place_(heights.size() + 1) {
    height_[0] = -1;
    const HeightState state = view();
    std::vector<std::pair<std::int64_t, std::uint32_t>> sorted(heights.size());
    for (std::uint32_t r = 0; r < state.count; ++r) sorted[r] = {heights[r], r};
    std::sort(sorted.begin(), sorted.end());
    double d = 0;
    for (std::size_t k = 0; k < state.count; ++k) {
      std::tie(state.height[k], state.row[k]) = sorted[k];
      place_[state.row[k]] = static_cast<std::uint32_t>(k);
      state.d[k] = d += mass_[state.row[k]];
    }
  }

  // the integral as a sum of what is not negative, in four independent chains
  double energy() {
    const HeightState state = view();
    double sum[4] = {};
    for (std::size_t k = 0; k + 1 < state.count; ++k) {
      sum[k % 4] += static_cast<double>(state.height[k + 1] - state.height[k]) * Norm::of(state.d[k]);
    }
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
  }

  // Lift rows, one event after the other; change[e] <- by how much the energy changes.
  void lift(const LiftEvent* events, std::size_t count, double* change) {
    crossings_ += Norm::lift()(view(), events, count, change);
  }

  bool overwhelmed(std::size_t events) const { return crossings_ > kManyCrossings * (events + kPatience); }

 private:
  HeightState view() {
    return {height_.data() + 1, d_.data() + 1, row_.data() + 1, place_.data(), mass_.data(), mass_.size()};
  }

  const std::vector<double>& mass_;
  std::vector<std::int64_t> height_;
  std::vector<double> d_;
  std::vector<std::uint32_t> row_, place_;
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

  void lift(const LiftEvent* events, std::size_t count, double* change) {
    for (std::size_t e = 0; e < count; ++e) change[e] = lift(events[e].row, events[e].jump);
  }

  bool overwhelmed(std::size_t) const { return false; }

 private:
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
