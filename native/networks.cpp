// The alignment of networks: products with sparse matrices, plans scaled to their marginals, messages between edges.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels.hpp"
#include "parallel.hpp"
#include "simd_kernels.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kRows = 32;       // of a matrix that one task takes
constexpr float kLeastShare = 1e-18f;   // of a plan's row: what is less cannot come back, and would be denormal soon
constexpr float kLargestScale = 1e18f;  // of a row or column

std::size_t blocks_of(std::size_t rows) { return (rows + kRows - 1) / kRows; }

}  // namespace

void multiply_left(const SparseView& a, const float* x, std::size_t columns, float* out, int threads) {
  const NetworkKernels& simd = simd_kernels().network;
  parallel_for(blocks_of(a.rows), threads, [&](std::size_t block, std::size_t) {
    const std::size_t last = std::min(a.rows, (block + 1) * kRows);
    for (std::size_t c = 0; c < columns; c += kNetworkStrip) {
      const std::size_t width = std::min(kNetworkStrip, columns - c);
      for (std::size_t i = block * kRows; i < last; ++i) {
        const auto begin = static_cast<std::size_t>(a.start[i]), end = static_cast<std::size_t>(a.start[i + 1]);
        simd.add_neighbours(a.neighbour + begin, a.weight + begin, end - begin, x + c, columns, width,
                            out + i * columns + c);
      }
    }
  });
}

void multiply_right(const float* x, std::size_t rows, std::size_t columns, const SparseView& transposed, float* out,
                    int threads) {
  const NetworkKernels& simd = simd_kernels().network;
  const std::size_t panels = (rows + kNetworkLanes - 1) / kNetworkLanes;
  std::vector<std::vector<float>> scratch(worker_count(panels, threads));
  parallel_for(panels, threads, [&](std::size_t panel, std::size_t worker) {
    scratch[worker].resize((columns + transposed.rows) * kNetworkLanes);
    const std::size_t first = panel * kNetworkLanes;
    simd.multiply_panel(x + first * columns, std::min(kNetworkLanes, rows - first), columns, transposed,
                        out + first * transposed.rows, scratch[worker].data());
  });
}

void tilt_plan(float* plan, const float* slope, std::size_t rows, std::size_t columns, float rate, const float* copies,
               int rounds, int threads) {
  const NetworkKernels& simd = simd_kernels().network;
  const std::size_t blocks = blocks_of(rows);
  std::vector<float> row_scale(rows, 1.0f), column_scale(columns, 1.0f), partial(blocks * columns);
  parallel_for(blocks, threads, [&](std::size_t block, std::size_t) {
    for (std::size_t i = block * kRows; i < std::min(rows, (block + 1) * kRows); ++i) {
      simd.tilt_row(plan + i * columns, slope + i * columns, columns, rate, kLeastShare);
    }
  });
  for (int round = 0; round < rounds; ++round) {
    parallel_for(blocks, threads, [&](std::size_t block, std::size_t) {
      float* sums = partial.data() + block * columns;
      std::fill_n(sums, columns, 0.0f);
      for (std::size_t i = block * kRows; i < std::min(rows, (block + 1) * kRows); ++i) {
        const float* row = plan + i * columns;
        if (round > 0) {
          row_scale[i] = std::min(kLargestScale, 1.0f / simd.row_dot(row, column_scale.data(), columns));
        }
        simd.add_scaled(sums, row, copies[i] * row_scale[i], columns);
      }
    });
    for (std::size_t block = 1; block < blocks; ++block) {
      simd.add_scaled(partial.data(), partial.data() + block * columns, 1.0f, columns);
    }
    for (std::size_t j = 0; j < columns; ++j) column_scale[j] = std::min(kLargestScale, 1.0f / partial[j]);
  }
  parallel_for(blocks, threads, [&](std::size_t block, std::size_t) {
    for (std::size_t i = block * kRows; i < std::min(rows, (block + 1) * kRows); ++i) {
      simd.scale_row(plan + i * columns, column_scale.data(), row_scale[i], columns);
    }
  });
}

double spread(const float* matrix, std::size_t rows, std::size_t columns, int threads) {
  std::vector<double> sums(rows), squares(rows);
  parallel_for(rows, threads, [&](std::size_t i, std::size_t) {
    const float* row = matrix + i * columns;
    double sum[kNetworkLanes] = {}, square[kNetworkLanes] = {};
    for (std::size_t c = 0; c < columns; ++c) {
      const double x = row[c];
      sum[c % kNetworkLanes] += x;
      square[c % kNetworkLanes] += x * x;
    }
    for (std::size_t lane = 0; lane < kNetworkLanes; ++lane) {
      sums[i] += sum[lane];
      squares[i] += square[lane];
    }
  });
  double sum = 0, square = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    sum += sums[i];
    square += squares[i];
  }
  const double count = static_cast<double>(rows) * static_cast<double>(columns);
  return std::sqrt(std::max(0.0, square / count - (sum / count) * (sum / count)));
}

void pass_messages(const MessageTask& task, std::size_t nodes, int threads) {
  const NetworkKernels& simd = simd_kernels().network;
  std::vector<std::vector<float>> scratch(worker_count(nodes, threads));
  parallel_for(nodes, threads, [&](std::size_t i, std::size_t worker) {
    const auto degree = static_cast<std::size_t>(task.first.start[i + 1] - task.first.start[i]);
    const std::size_t needed = ((3 * degree + 1) * task.second.most_slots + 1) * kNetworkLanes;
    if (scratch[worker].size() < needed) scratch[worker].resize(needed);
    simd.pass_messages(task, i, scratch[worker].data());
  });
}

}  // namespace anchorot
