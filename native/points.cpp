// Euclidean distances between points. Squares are added up coordinate by coordinate, so that neither the number of
// threads nor the width of registers changes a bit, and the sums are those of SciPy's cdist.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace anchorot {
namespace {

constexpr double kLargestSize = 0x1p400, kLeastSize = 0x1p-400;  // coordinates between them have squares in range

// Coordinates of points, one after the other, and room for one number per point.
struct Columns {
  std::vector<double> coordinate;  // [coordinate][point]
  std::vector<double> square;

  void take(const Points& points) {
    coordinate.resize(points.n * points.d);
    square.resize(points.n);
    for (std::size_t k = 0; k < points.d; ++k) {
      for (std::size_t j = 0; j < points.n; ++j) coordinate[k * points.n + j] = points.coordinates[j * points.d + k];
    }
  }

  // square[j] = squared distance of the point x to point j, from `first` on
  void measure(const double* x, std::size_t d, std::size_t first) {
    const std::size_t n = square.size();
    double* sum = square.data();
    std::fill(sum + first, sum + n, 0.0);
    for (std::size_t k = 0; k < d; ++k) {
      const double from = x[k];
      const double* to = &coordinate[k * n];
      for (std::size_t j = first; j < n; ++j) {
        const double gap = from - to[j];
        sum[j] += gap * gap;
      }
    }
  }
};

bool has_size_in_range(const Points& x) {
  double size = 0;
  for (std::size_t i = 0; i < x.n * x.d; ++i) size = std::max(size, std::fabs(x.coordinates[i]));
  return size == 0 || (size < kLargestSize && size > kLeastSize);
}

// The upper half, mirrored. Returns whether the largest distance is in the range of T.
template <class T>
bool distances_within(const Points& x, Columns& columns, T* out) {
  columns.take(x);
  double largest = 0;
  for (std::size_t i = 0; i < x.n; ++i) {
    columns.measure(x.coordinates + i * x.d, x.d, i);
    const double* square = columns.square.data();
    for (std::size_t j = i; j < x.n; ++j) largest = largest < square[j] ? square[j] : largest;
    for (std::size_t j = i; j < x.n; ++j) out[i * x.n + j] = static_cast<T>(std::sqrt(square[j]));
    for (std::size_t j = i + 1; j < x.n; ++j) out[j * x.n + i] = out[i * x.n + j];
  }
  const double distance = std::sqrt(largest);
  return distance == 0 || (distance <= std::numeric_limits<T>::max() && distance >= std::numeric_limits<T>::min());
}

}  // namespace

void euclidean(const Points& x, const Points& y, double* out) {
  Columns columns;
  columns.take(y);
  for (std::size_t i = 0; i < x.n; ++i) {
    check_interrupt();
    columns.measure(x.coordinates + i * x.d, x.d, 0);
    for (std::size_t j = 0; j < y.n; ++j) out[i * y.n + j] = std::sqrt(columns.square[j]);
  }
}

template <class T>
void cloud_costs(const std::vector<Cloud<T>>& clouds, bool* ordinary, int threads) {
  std::vector<Columns> columns(worker_count(clouds.size(), threads));
  parallel_for(clouds.size(), threads, [&](std::size_t c, std::size_t worker) {
    const Points& points = clouds[c].points;
    ordinary[c] = has_size_in_range(points) && distances_within(points, columns[worker], clouds[c].out);
  });
}

template void cloud_costs(const std::vector<Cloud<double>>&, bool*, int);
template void cloud_costs(const std::vector<Cloud<float>>&, bool*, int);

}  // namespace anchorot
