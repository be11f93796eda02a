// Transport costs between every row of one space and every row of another.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "simd_kernels.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kDepth = 128;  // segments summed at a time: packed tiles of x and y stay in the first cache

constexpr std::size_t kRowsBetweenChecks = 64;  // of step functions that are compared before the next look at signals

std::size_t round_up(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

// packed[tile][s][c] = width[s] * matrix[level[s]][tile * columns + c], for segments first, ..., first + depth - 1;
// numbers beyond the matrix are 0.
void pack(const double* matrix, std::size_t count, const std::int64_t* level, const double* width, std::size_t depth,
          std::size_t columns, double* packed) {
  for (std::size_t tile = 0; tile < count; tile += columns) {
    for (std::size_t s = 0; s < depth; ++s) {
      const double* row = matrix + static_cast<std::size_t>(level[s]) * count + tile;
      const std::size_t there = std::min(columns, count - tile);
      for (std::size_t c = 0; c < there; ++c) packed[c] = width[s] * row[c];
      for (std::size_t c = there; c < columns; ++c) packed[c] = 0;
      packed += columns;
    }
  }
}

double power(double x, int p) {
  double result = x;
  for (int k = 1; k < p; ++k) result *= x;
  return result;
}

// integral of |x_i - y_j|^p: walk both step functions from end to end
template <int P>
double step_cost(const double* u, const double* u_end, std::size_t n, const double* v, const double* v_end,
                 std::size_t m, int p) {
  double sum = 0, here = 0;
  std::size_t i = 0, j = 0;
  while (true) {
    const double end_u = u_end[i], end_v = v_end[j];
    const double next = end_u < end_v ? end_u : end_v;
    const double gap = std::fabs(u[i] - v[j]);
    // No width, no cost: not even where the power is infinite.
    if (next > here) sum += (next - here) * (P == 1 ? gap : P == 2 ? gap * gap : power(gap, p));
    here = next;
    const bool step_u = end_u <= end_v, step_v = end_v <= end_u;
    // At the last step of either, the other's rest lies beyond the common end: at most rounding.
    if ((step_u && i + 1 == n) || (step_v && j + 1 == m)) return sum;
    i += step_u;
    j += step_v;
  }
}

constexpr std::size_t kMerges = 4;  // side by side: a merge waits for its own last step, but not for another's

// The same of one row and kMerges others, whose steps begin at j[0], ..., to the last bit. Each walks n + m - 1 steps; one
// that has come to its end stays there, over no width.
template <int P>
void step_costs_side_by_side(const double* u, const double* u_end, std::size_t n, const double* v, const double* v_end,
                             const std::size_t* first, std::size_t m, int p, double* out) {
  std::size_t i[kMerges] = {}, j[kMerges];
  double sum[kMerges] = {}, here[kMerges] = {};
  std::copy_n(first, kMerges, j);
  for (std::size_t step = 1; step < n + m; ++step) {
    for (std::size_t k = 0; k < kMerges; ++k) {
      const double end_u = u_end[i[k]], end_v = v_end[j[k]];
      const double next = end_u < end_v ? end_u : end_v;
      const double gap = std::fabs(u[i[k]] - v[j[k]]), width = next - here[k];
      const double cost = width * (P == 1 ? gap : P == 2 ? gap * gap : power(gap, p));
      sum[k] += width > 0 ? cost : 0;
      here[k] = next;
      i[k] += static_cast<std::size_t>(end_u <= end_v) & static_cast<std::size_t>(i[k] + 1 < n);
      j[k] += static_cast<std::size_t>(end_v <= end_u) & static_cast<std::size_t>(j[k] + 1 < first[k] + m);
    }
  }
  std::copy_n(sum, kMerges, out);
}

template <int P>
void step_cost_row(const StepRows& x, const StepRows& y, std::size_t i, int p, double* out) {
  const double *value = x.value + i * x.steps, *end = x.end + i * x.steps;
  std::size_t j = 0;
  for (; j + kMerges <= y.rows; j += kMerges) {
    if (j % kRowsBetweenChecks == 0) check_interrupt();
    std::size_t first[kMerges];
    for (std::size_t k = 0; k < kMerges; ++k) first[k] = (j + k) * y.steps;
    step_costs_side_by_side<P>(value, end, x.steps, y.value, y.end, first, y.steps, p, out + j);
  }
  for (; j < y.rows; ++j) {
    out[j] = step_cost<P>(value, end, x.steps, y.value + j * y.steps, y.end + j * y.steps, y.steps, p);
  }
}

}  // namespace

void l1_costs(const double* x, std::size_t n, const double* y, std::size_t m, const Segments& segments, double* out,
              int threads) {
  const TileKernel tile = simd_kernels().tile;
  const std::size_t padded_n = round_up(n, tile.rows), padded_m = round_up(m, tile.columns);
  std::unique_ptr<double[]> packed_x(new double[padded_n * kDepth]), packed_y(new double[padded_m * kDepth]);
  std::vector<double> sums(padded_n * padded_m, 0.0);
  for (std::size_t first = 0; first < segments.count; first += kDepth) {
    const std::size_t depth = std::min(kDepth, segments.count - first);
    const double* width = segments.width + first;
    pack(x, n, segments.k + first, width, depth, tile.rows, packed_x.get());
    pack(y, m, segments.l + first, width, depth, tile.columns, packed_y.get());
    parallel_for(padded_n / tile.rows, threads, [&](std::size_t row, std::size_t) {
      const double* tile_x = packed_x.get() + row * tile.rows * depth;
      for (std::size_t column = 0; column < padded_m; column += tile.columns) {
        double* target = sums.data() + row * tile.rows * padded_m + column;
        tile.add_l1(tile_x, packed_y.get() + column * depth, depth, target, padded_m);
      }
    });
  }
  for (std::size_t i = 0; i < n; ++i) std::copy_n(sums.data() + i * padded_m, m, out + i * m);
}

void step_costs(const StepRows& x, const StepRows& y, int p, double* out, int threads) {
  const auto row = p == 1 ? step_cost_row<1> : p == 2 ? step_cost_row<2> : step_cost_row<0>;
  parallel_for(x.rows, threads, [&](std::size_t i, std::size_t) { row(x, y, i, p, out + i * y.rows); });
}

}  // namespace anchorot
