// Sorting rows: hands groups of panels, or whole spaces, to workers.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "kernels.hpp"
#include "parallel.hpp"
#include "simd_kernels.hpp"

namespace anchorot {
namespace {

template <class T>
const PanelKernels<T>& panel_kernels();
template <>
const PanelKernels<double>& panel_kernels<double>() {
  return simd_kernels().f64;
}
template <>
const PanelKernels<float>& panel_kernels<float>() {
  return simd_kernels().f32;
}

template <class T>
struct alignas(kLineBytes) Line {
  T numbers[kPanel<T>];
};

// Calls body(first row, rows, scratch) for every `group` panels of a matrix of `rows` rows of `length` numbers.
template <class T, class Body>
void for_each_group(std::size_t group, std::size_t rows, std::size_t length, int threads, Body body) {
  const std::size_t step = group * kPanel<T>;
  const std::size_t tasks = (rows + step - 1) / step;
  std::vector<std::unique_ptr<Line<T>[]>> scratch(worker_count(tasks, threads));
  for (auto& lines : scratch) lines.reset(new Line<T>[group * length]);
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t worker) {
    const std::size_t first = task * step;
    body(first, std::min(step, rows - first), scratch[worker][0].numbers);
  });
}

// Whether all costs are finite and at least 0, and the diagonal has no larger mean than all of them.
template <class T>
bool is_ordinary(const T* cost, std::size_t n) {
  using Flag = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;  // as wide as T, so that lanes match
  Flag bad = 0;
  for (std::size_t i = 0; i < n * n; ++i) bad |= !(cost[i] >= 0 && cost[i] <= std::numeric_limits<T>::max());
  if (bad) return false;
  double trace = 0, total = 0;
  for (std::size_t i = 0; i < n; ++i) trace += cost[i * (n + 1)];
  if (trace == 0) return true;
  for (std::size_t i = 0; i < n * n; ++i) total += cost[i];
  return static_cast<double>(n) * trace <= total;
}

}  // namespace

template <class T>
void space_levels(const std::vector<SpaceCosts<T>>& spaces, bool* ordinary, int threads) {
  const PanelKernels<T>& kernels = panel_kernels<T>();
  std::size_t most = 0;
  for (const auto& space : spaces) most = std::max(most, space.n);
  std::vector<std::unique_ptr<Line<T>[]>> scratch(worker_count(spaces.size(), threads));
  for (auto& lines : scratch) lines.reset(new Line<T>[kGroup * most]);
  parallel_for(spaces.size(), threads, [&](std::size_t s, std::size_t worker) {
    const auto [cost, out, n] = spaces[s];
    ordinary[s] = is_ordinary(cost, n);
    if (!ordinary[s]) return;
    T* lines = scratch[worker][0].numbers;
    constexpr std::size_t group = kGroup * kPanel<T>, panel = kPanel<T>;
    for (std::size_t i = 0; i < n; i += group) {
      kernels.sort_across(cost + i * n, n, std::min(group, n - i), out + i, n, lines);
    }
    for (std::size_t k = 0; k < n; k += panel) kernels.sort_along(out + k * n, n, std::min(panel, n - k), lines);
  });
}

template <class T>
void quantiles(const T* matrix, T* out, std::size_t rows, std::size_t length, int threads) {
  const auto sort_across = panel_kernels<T>().sort_across;
  take_pages(out, rows * length * sizeof(T), threads);
  for_each_group<T>(kGroup, rows, length, threads, [&](std::size_t first, std::size_t width, T* scratch) {
    sort_across(matrix + first * length, length, width, out + first, rows, scratch);
  });
}

template <class T>
void sort_rows(T* matrix, std::size_t rows, std::size_t length, int threads) {
  const auto sort_along = panel_kernels<T>().sort_along;
  for_each_group<T>(1, rows, length, threads, [&](std::size_t first, std::size_t width, T* scratch) {
    sort_along(matrix + first * length, length, width, scratch);
  });
}

template void quantiles(const double*, double*, std::size_t, std::size_t, int);
template void quantiles(const float*, float*, std::size_t, std::size_t, int);
template void sort_rows(double*, std::size_t, std::size_t, int);
template void sort_rows(float*, std::size_t, std::size_t, int);
template void space_levels(const std::vector<SpaceCosts<double>>&, bool*, int);
template void space_levels(const std::vector<SpaceCosts<float>>&, bool*, int);

}  // namespace anchorot
