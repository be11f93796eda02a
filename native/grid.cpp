// Averages of F(x, t) = sum over anchors of mass [quantile at t <= x] over the cells of a grid.
//
// An anchor's quantile is v for the levels in [bottom, top]: there it adds its mass to F right of v. In a cell of x
// right of v's own that counts whole, in v's own for the part right of v. So whole and part masses are collected in
// the cell of v, for each cell of t that [bottom, top] meets, and a running sum at the end carries them to the right.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kCells = 4;  // of t, that are added to together

class CellSums {
 public:
  explicit CellSums(const GridSpec& grid)
      : grid_(grid),
        half_low_(0.5 * grid.low),
        scale_(static_cast<double>(grid.cells_x) / (0.5 * grid.high - half_low_)),
        pitch_(grid.cells_t + kCells),
        // one cell more along x, for what lies right of the range and counts nowhere
        whole_((grid.cells_x + 1) * pitch_),
        part_(whole_.size()) {}

  // Anchors of equal mass at the `count` values, for the levels from bottom to top, which are in units of a cell.
  template <class T>
  void add(const T* values, std::size_t count, double mass, double bottom, double top) {
    const std::size_t last = grid_.cells_t - 1;
    double share[kCells];
    for (std::size_t t = std::min(static_cast<std::size_t>(bottom), last); t <= last; t += kCells) {
      bool is_end = false;
      for (std::size_t c = 0; c < kCells; ++c) {
        const double from = std::max(bottom, static_cast<double>(t + c));
        const double to = std::min(top, static_cast<double>(t + c + 1));
        is_end = is_end || t + c > last || to <= from;
        share[c] = is_end ? 0 : mass * (to - from);
      }
      if (share[0] == 0 && is_end) break;
      if (share[1] == 0) {
        add_to<1>(t, values, count, share);
      } else {
        add_to<kCells>(t, values, count, share);
      }
      if (is_end) break;
    }
  }

  // Write the averages, and begin anew.
  void take_averages(double* out) {
    std::vector<double>& left = left_;
    left.assign(grid_.cells_t, 0);
    for (std::size_t x = 0; x < grid_.cells_x; ++x) {
      const double *whole = &whole_[x * pitch_], *part = &part_[x * pitch_];
      double* row = out + x * grid_.cells_t;
      for (std::size_t t = 0; t < grid_.cells_t; ++t) {
        row[t] = left[t] + part[t];
        left[t] += whole[t];
      }
    }
    std::fill(whole_.begin(), whole_.end(), 0.0);
    std::fill(part_.begin(), part_.end(), 0.0);
  }

 private:
  // Adding shares of 0 to sums, which are never -0, changes nothing.
  template <std::size_t cells, class T>
  void add_to(std::size_t t, const T* values, std::size_t count, const double* share) {
    const double right = static_cast<double>(grid_.cells_x);
    for (std::size_t i = 0; i < count; ++i) {
      const double x = std::min(std::max(0.0, (0.5 * static_cast<double>(values[i]) - half_low_) * scale_), right);
      const auto cell = static_cast<std::int64_t>(x);
      const double beyond = static_cast<double>(cell + 1) - x;
      double *whole = &whole_[cell * pitch_ + t], *part = &part_[cell * pitch_ + t];
      for (std::size_t c = 0; c < cells; ++c) {
        whole[c] += share[c];
        part[c] += share[c] * beyond;
      }
    }
  }

  const GridSpec grid_;
  const double half_low_, scale_;  // halves, so that no difference overflows
  const std::size_t pitch_;
  std::vector<double> whole_, part_;  // [cell of x][cell of t]
  std::vector<double> left_;          // of every cell of t: the whole masses left of a cell of x
};

template <class T>
void add_levels(const Levels<T>& x, const GridSpec& grid, CellSums& sums) {
  const double height = static_cast<double>(grid.cells_t) / static_cast<double>(x.levels);
  const double mass = 1.0 / static_cast<double>(x.count);
  for (std::size_t k = 0; k < x.levels; ++k) {
    check_interrupt();
    sums.add(x.at(k), x.count, mass, static_cast<double>(k) * height, static_cast<double>(k + 1) * height);
  }
}

}  // namespace

template <class T>
void level_averages(const std::vector<Levels<T>>& xs, const GridSpec& grid, double* out, int threads) {
  std::vector<CellSums> sums(worker_count(xs.size(), threads), CellSums(grid));
  parallel_for(xs.size(), threads, [&](std::size_t s, std::size_t worker) {
    add_levels(xs[s], grid, sums[worker]);
    sums[worker].take_averages(out + s * grid.cells_x * grid.cells_t);
  });
}

void event_averages(const Events& x, const GridSpec& grid, double* out) {
  CellSums sums(grid);
  const double unit = kHeightUnit * static_cast<double>(grid.cells_t);
  std::vector<std::int64_t> height(x.rows, 0);
  for_each_interruptibly(x.count, [&](std::size_t e) {
    std::int64_t& h = height[x.row[e]];
    const double bottom = static_cast<double>(h) * unit;
    h += x.jump[e];
    sums.add(&x.position[e], 1, x.mass[x.row[e]], bottom, static_cast<double>(h) * unit);
  });
  sums.take_averages(out);
}

template void level_averages(const std::vector<Levels<double>>&, const GridSpec&, double*, int);
template void level_averages(const std::vector<Levels<float>>&, const GridSpec&, double*, int);

}  // namespace anchorot
