// Sweeps over the levels t of weighted rows, whose quantiles are kept sorted (sorted_quantiles.hpp).
//
// SAW_2 is the root of the double integral of (G_X(s, t) - G_Y(s, t))^2. The shares s are cut into blocks. A row that
// rises changes G in a few of them: for each, what its squares came to since they last changed is added up first, times
// the levels in between, and afterwards they are summed afresh. Nothing is ever taken away, so nothing cancels.
//
// The averages of G over cells: a row of mass m that rises past others lifts G from one value to the next on m shares
// just below the end of each that it passes. These lifts, times the shares and the levels that remain in each cell, are
// added up; none is negative.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "sorted_quantiles.hpp"
#include "square_unit.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kRowsPerBlock = 8;  // of both sides together: 4 to 16 take about as long

double largest_value(const LevelMoves& moves) {
  double largest = *std::max_element(moves.start, moves.start + moves.rows);
  for (std::size_t e = 0; e < moves.count; ++e) largest = std::max(largest, moves.after[e]);
  return largest;
}

double smallest_value(const LevelMoves& moves) { return *std::min_element(moves.start, moves.start + moves.rows); }

// Integral of (G_X - G_Y)^2 between two shares, in units of 2^-62; gaps times `scale`.
double squares_between(const SortedQuantiles& x, const SortedQuantiles& y, std::int64_t begin, std::int64_t end,
                       double scale) {
  double sum = 0;
  for (std::size_t i = x.at(begin), j = y.at(begin); begin < end;) {
    const std::int64_t next = std::min({x.end(i), y.end(j), end});
    const double gap = (x.value(i) - y.value(j)) * scale;
    sum += static_cast<double>(next - begin) * (gap * gap);
    begin = next;
    i += x.end(i) == next;
    j += y.end(j) == next;
  }
  return sum;
}

// The integral over t and s of squares, block of shares by block.
class BlockSums {
 public:
  BlockSums(const SortedQuantiles& x, const SortedQuantiles& y, double scale) : x_(x), y_(y), scale_(scale) {
    while ((kRowsPerBlock << (62 - shift_)) < x.size() + y.size()) --shift_;
    blocks_.resize(std::size_t{1} << (62 - shift_));
  }

  // Before G changes at level t between two shares.
  void touch(std::int64_t begin, std::int64_t end, double t) {
    if (begin == end) return;
    for (std::int64_t b = begin >> shift_; b <= (end - 1) >> shift_; ++b) {
      add_up(static_cast<std::size_t>(b), t);
      blocks_[static_cast<std::size_t>(b)].is_stale = true;
    }
  }

  double total() {
    double sum = 0;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      add_up(b, 1.0);
      sum += blocks_[b].sum;
    }
    return sum * kHeightUnit;
  }

 private:
  struct Block {
    double since = 0, squares = 0, sum = 0;
    bool is_stale = true;
  };

  void add_up(std::size_t b, double t) {
    Block& block = blocks_[b];
    if (t <= block.since) return;
    if (block.is_stale) {
      const auto begin = static_cast<std::int64_t>(b) << shift_;
      block.squares = squares_between(x_, y_, begin, begin + (std::int64_t{1} << shift_), scale_);
      block.is_stale = false;
    }
    block.sum += (t - block.since) * block.squares;
    block.since = t;
  }

  const SortedQuantiles &x_, &y_;
  double scale_;
  int shift_ = 62;  // a block is 2^shift shares
  std::vector<Block> blocks_;
};

// Sums over cells of levels and shares of what lifts G.
class CellSums {
 public:
  CellSums(std::size_t levels, std::size_t shares, double* out)
      : levels_(levels), shares_(shares), out_(out), later_(levels * shares) {
    std::fill(out, out + levels * shares, 0.0);
    for (std::size_t k = 0; k <= shares; ++k) {
      bounds_.push_back(std::llrint(static_cast<double>(k) / static_cast<double>(shares) *
                                    static_cast<double>(kWholeShare)));
    }
  }

  // G is larger by `lift` from level t on, between two shares.
  void add(double t, std::int64_t begin, std::int64_t end, double lift) {
    if (begin >= end || lift <= 0) return;
    const double place = t * static_cast<double>(levels_);
    const std::size_t l = std::min(static_cast<std::size_t>(place), levels_ - 1);
    const double rest = std::max(static_cast<double>(l + 1) - place, 0.0);
    auto k = static_cast<std::size_t>(std::upper_bound(bounds_.begin(), bounds_.end(), begin) - bounds_.begin()) - 1;
    for (; begin < end; ++k) {
      const std::int64_t next = std::min(bounds_[k + 1], end);
      const double part = lift * (static_cast<double>(next - begin) / static_cast<double>(bounds_[k + 1] - bounds_[k]));
      out_[l * shares_ + k] += part * rest;
      later_[l * shares_ + k] += part;
      begin = next;
    }
  }

  // Averages of G, where G is at least `least`.
  void finish(double least) {
    for (std::size_t k = 0; k < shares_; ++k) {
      double before = 0;
      for (std::size_t l = 0; l < levels_; ++l) {
        double& cell = out_[l * shares_ + k];
        cell = least + (cell + before);
        before += later_[l * shares_ + k];
      }
    }
  }

 private:
  std::size_t levels_, shares_;
  double* out_;
  std::vector<double> later_;  // what is to be added to all later levels
  std::vector<std::int64_t> bounds_;
};

}  // namespace

double level_sweep_transport(const LevelMoves& x, const LevelMoves& y) {
  const double span =
      std::max(largest_value(x), largest_value(y)) - std::min(smallest_value(x), smallest_value(y));
  if (!std::isfinite(span)) return std::numeric_limits<double>::infinity();
  const double unit = square_unit(span);
  SortedQuantiles of_x(x), of_y(y);
  BlockSums sums(of_x, of_y, 1 / unit);
  for (std::size_t i = 0, j = 0; i < x.count || j < y.count;) {
    if ((i + j) % 1024 == 0) check_interrupt();
    const bool from_x = j == y.count || (i < x.count && x.level[i] <= y.level[j]);
    const LevelMoves& moves = from_x ? x : y;
    SortedQuantiles& moved = from_x ? of_x : of_y;
    const std::size_t e = (from_x ? i : j)++;
    const auto rise = moved.rise_of(moves.row[e], moves.after[e]);
    sums.touch(rise.begin, rise.end, moves.level[e]);
    moved.apply(rise, moves.row[e], moves.after[e]);
  }
  return std::sqrt(sums.total()) * unit;
}

void quantile_averages(const LevelMoves& x, std::size_t levels, std::size_t shares, double* out) {
  SortedQuantiles sorted(x);
  const double least = smallest_value(x);
  CellSums sums(levels, shares, out);
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sums.add(0.0, k == 0 ? 0 : sorted.end(k - 1), sorted.end(k), sorted.value(k) - least);
  }
  for (std::size_t e = 0; e < x.count; ++e) {
    if (e % 1024 == 0) check_interrupt();
    const auto rise = sorted.rise_of(x.row[e], x.after[e]);
    const std::int64_t mass = sorted.mass(x.row[e]);
    for (std::size_t k = rise.from; k <= rise.to; ++k) {
      const double above = k == rise.to ? x.after[e] : sorted.value(k + 1);
      sums.add(x.level[e], sorted.end(k) - mass, sorted.end(k), above - sorted.value(k));
    }
    sorted.apply(rise, x.row[e], x.after[e]);
  }
  sums.finish(least);
}

}  // namespace anchorot
