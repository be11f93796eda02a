// Sorting rows: hands groups of panels to workers.
#include <algorithm>
#include <memory>
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

// Calls body(first row, rows, scratch) for every `group` panels of a matrix of `rows` rows of `length` numbers.
template <class T, class Body>
void for_each_group(std::size_t group, std::size_t rows, std::size_t length, int threads, Body body) {
  const std::size_t step = group * kPanel<T>;
  const std::size_t tasks = (rows + step - 1) / step;
  struct alignas(kLineBytes) Line {
    T numbers[kPanel<T>];
  };
  std::vector<std::unique_ptr<Line[]>> scratch(worker_count(tasks, threads));
  for (auto& lines : scratch) lines.reset(new Line[group * length]);
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t worker) {
    const std::size_t first = task * step;
    body(first, std::min(step, rows - first), scratch[worker][0].numbers);
  });
}

}  // namespace

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

}  // namespace anchorot
