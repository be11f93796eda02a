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

namespace anchorot {
namespace {

class CellSums {
 public:
  explicit CellSums(const GridSpec& grid)
      : grid_(grid),
        half_low_(0.5 * grid.low),
        scale_(static_cast<double>(grid.cells_x) / (0.5 * grid.high - half_low_)),
        // one cell more along x, for what lies right of the range and counts nowhere
        sums_((grid.cells_x + 1) * grid.cells_t) {}

  // Anchors of equal mass at the `count` values, for the levels from bottom to top, which are in units of a cell.
  template <class T>
  void add(const T* values, std::size_t count, double mass, double bottom, double top) {
    const std::size_t last = grid_.cells_t - 1;
    for (std::size_t t = std::min(static_cast<std::size_t>(bottom), last); t <= last; ++t) {
      const double from = std::max(bottom, static_cast<double>(t));
      const double to = std::min(top, static_cast<double>(t + 1));
      if (to <= from) break;
      add_to(&sums_[t * (grid_.cells_x + 1)], values, count, mass * (to - from));
    }
  }

  void averages(double* out) const {
    for (std::size_t t = 0; t < grid_.cells_t; ++t) {
      double left = 0;
      for (std::size_t x = 0; x < grid_.cells_x; ++x) {
        const Sum& sum = sums_[t * (grid_.cells_x + 1) + x];
        out[x * grid_.cells_t + t] = left + sum.part;
        left += sum.whole;
      }
    }
  }

 private:
  struct Sum {
    double whole = 0, part = 0;
  };

  template <class T>
  void add_to(Sum* sums, const T* values, std::size_t count, double share) const {
    const double right = static_cast<double>(grid_.cells_x);
    for (std::size_t i = 0; i < count; ++i) {
      const double x = std::min(std::max(0.0, (0.5 * static_cast<double>(values[i]) - half_low_) * scale_), right);
      const auto cell = static_cast<std::int64_t>(x);
      sums[cell].whole += share;
      sums[cell].part += share * (static_cast<double>(cell + 1) - x);
    }
  }

  const GridSpec grid_;
  const double half_low_, scale_;  // halves, so that no difference overflows
  std::vector<Sum> sums_;
};

}  // namespace

template <class T>
void level_averages(const Levels<T>& x, const GridSpec& grid, double* out) {
  CellSums sums(grid);
  const double height = static_cast<double>(grid.cells_t) / static_cast<double>(x.levels);
  const double mass = 1.0 / static_cast<double>(x.count);
  for (std::size_t k = 0; k < x.levels; ++k) {
    check_interrupt();
    sums.add(x.at(k), x.count, mass, static_cast<double>(k) * height, static_cast<double>(k + 1) * height);
  }
  sums.averages(out);
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
  sums.averages(out);
}

template void level_averages(const Levels<double>&, const GridSpec&, double*);
template void level_averages(const Levels<float>&, const GridSpec&, double*);

}  // namespace anchorot
