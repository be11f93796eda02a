// Sliced Anchor Wasserstein: transport between the anchors' quantiles, level by level.
//
// At level t let G(s, t) be the s-quantile of the anchors' quantiles Q_i(t), of masses a_i. Then
//
//     SAW_p^p = double integral over s, t in [0, 1] of |G_X(s, t) - G_Y(s, t)|^p .
//
// Uniform weights: G is the matrix of sorted levels, read as a step function of t and of s. Of one shape, SAW is a mean
// of absolute differences (simd_kernels.cpp), summed chunk by chunk; otherwise over the common refinements of both.
// Weights: sweep.cpp (p = 1), quantile_sweep.cpp (p = 2).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "segments.hpp"
#include "simd_kernels.hpp"
#include "square_unit.hpp"

namespace anchorot {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
double span_of(const Levels<T>& x, const Levels<T>& y) {
  auto largest = [](const Levels<T>& side) { return static_cast<double>(side.at(side.levels - 1)[side.count - 1]); };
  return std::max(largest(x), largest(y)) - std::min<double>(x.at(0)[0], y.at(0)[0]);
}

double root_of(double mean, int p, double unit) { return p == 1 ? mean : std::sqrt(mean) * unit; }

double sum_chunk(const double* x, const double* y, std::size_t count, int p, double unit) {
  return simd_kernels().gaps.sum_f64(x, y, count, p, 1 / unit);
}
double sum_chunk(const float* x, const float* y, std::size_t count, int p, double unit) {
  return simd_kernels().gaps.sum_f32(x, y, count, p, 1 / unit);
}

constexpr std::size_t kChunk = 2048;  // numbers: two chunks of doubles fill a first cache

std::size_t chunks_of(std::size_t size) { return (size + kChunk - 1) / kChunk; }
std::size_t chunk_length(std::size_t size, std::size_t chunk) { return std::min(kChunk, size - chunk * kChunk); }

template <class T>
bool same_shape(const Levels<T>& x, const Levels<T>& y) {
  return x.levels == y.levels && x.count == y.count;
}

// Mean of gaps to the power p of two matrices of one shape.
template <class T>
double mean_gap(const Levels<T>& x, const Levels<T>& y, int p, double unit, int threads) {
  const std::size_t size = x.levels * x.count;
  std::vector<double> part(chunks_of(size));
  parallel_for(part.size(), threads, [&](std::size_t c, std::size_t) {
    part[c] = sum_chunk(x.numbers + c * kChunk, y.numbers + c * kChunk, chunk_length(size, c), p, unit);
  });
  return std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(size);
}

constexpr std::size_t kSegmentsPerTask = 16;

// The same of matrices of different shapes, over the common refinements of levels and of shares of the anchors.
template <class T>
double refined_gap(const Levels<T>& x, const Levels<T>& y, int p, double unit, int threads) {
  const std::vector<Segment> levels = common_segments(x.levels, y.levels), shares = common_segments(x.count, y.count);
  std::vector<double> part(levels.size());
  const double scale = 1 / unit;
  parallel_for((levels.size() + kSegmentsPerTask - 1) / kSegmentsPerTask, threads, [&](std::size_t task, std::size_t) {
    const std::size_t end = std::min(levels.size(), (task + 1) * kSegmentsPerTask);
    for (std::size_t s = task * kSegmentsPerTask; s < end; ++s) {
      const T *u = x.at(levels[s].k), *v = y.at(levels[s].l);
      double sum[4] = {};
      for (std::size_t r = 0; r < shares.size(); ++r) {
        const Segment& share = shares[r];
        const double gap = std::fabs(static_cast<double>(u[share.k]) - static_cast<double>(v[share.l])) * scale;
        sum[r % 4] += share.width * (p == 1 ? gap : gap * gap);
      }
      part[s] = levels[s].width * ((sum[0] + sum[2]) + (sum[1] + sum[3]));
    }
  });
  return std::accumulate(part.begin(), part.end(), 0.0);
}

}  // namespace

template <class T>
double level_transport(const Levels<T>& x, const Levels<T>& y, int p, int threads) {
  const double span = span_of(x, y);
  if (!std::isfinite(span)) return kInfinity;
  const double unit = p == 1 ? 1.0 : square_unit(span);
  const double mean = same_shape(x, y) ? mean_gap(x, y, p, unit, threads) : refined_gap(x, y, p, unit, threads);
  return root_of(mean, p, unit);
}

template <class T>
void level_transports(const std::vector<Levels<T>>& xs, const std::vector<Levels<T>>& ys, const std::int64_t* counts,
                      int p, double* out) {
  const std::size_t columns = ys.size();
  auto alike = [&](const Levels<T>& each) { return same_shape(each, xs[0]); };
  const bool together = !xs.empty() && std::all_of(xs.begin(), xs.end(), alike) &&
                        std::all_of(ys.begin(), ys.end(), alike);
  auto each_pair = [&](auto&& compare) {
    for (std::size_t j = 0; j < columns; ++j) {
      check_interrupt();
      for (std::size_t i = 0; i < static_cast<std::size_t>(counts[j]); ++i) compare(i, j, out[i * columns + j]);
    }
  };
  if (!together) {
    each_pair([&](std::size_t i, std::size_t j, double& value) { value = level_transport(xs[i], ys[j], p, 1); });
    return;
  }
  // Chunk by chunk, so that those of all spaces stay in the caches: the sums of `mean_gap`, in its order.
  const std::size_t size = xs[0].levels * xs[0].count;
  std::vector<double> unit(xs.size() * columns);
  each_pair([&](std::size_t i, std::size_t j, double& value) {
    const double span = span_of(xs[i], ys[j]);
    unit[i * columns + j] = p == 1 || !std::isfinite(span) ? 1.0 : square_unit(span);
    value = std::isfinite(span) ? 0.0 : kInfinity;
  });
  for (std::size_t c = 0; c < chunks_of(size); ++c) {
    each_pair([&](std::size_t i, std::size_t j, double& value) {
      value += sum_chunk(xs[i].numbers + c * kChunk, ys[j].numbers + c * kChunk, chunk_length(size, c), p,
                         unit[i * columns + j]);
    });
  }
  each_pair([&](std::size_t i, std::size_t j, double& value) {
    value = root_of(value / static_cast<double>(size), p, unit[i * columns + j]);
  });
}

template double level_transport(const Levels<double>&, const Levels<double>&, int, int);
template double level_transport(const Levels<float>&, const Levels<float>&, int, int);
template void level_transports(const std::vector<Levels<double>>&, const std::vector<Levels<double>>&,
                               const std::int64_t*, int, double*);
template void level_transports(const std::vector<Levels<float>>&, const std::vector<Levels<float>>&,
                               const std::int64_t*, int, double*);

}  // namespace anchorot
