// Sorting rows: picks the instruction set once, then hands panels to workers.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels.hpp"
#include "panels.hpp"
#include "parallel.hpp"

namespace isa_baseline {
extern const anchorot::PanelKernelSet kernels;
}
#ifdef ANCHOROT_X86_DISPATCH
namespace isa_avx2 {
extern const anchorot::PanelKernelSet kernels;
}
namespace isa_avx512 {
extern const anchorot::PanelKernelSet kernels;
}
#endif

namespace anchorot {
namespace {

struct Choice {
  const char* name;
  const PanelKernelSet* kernels;
};

// ANCHOROT_SIMD=avx2 or baseline asks for less than the processor offers, so that every copy can be tested.
Choice choose() {
#ifdef ANCHOROT_X86_DISPATCH
  const char* limit = std::getenv("ANCHOROT_SIMD");
  const bool up_to_avx2 = limit && std::strcmp(limit, "avx2") == 0;
  const bool up_to_baseline = limit && std::strcmp(limit, "baseline") == 0;
  __builtin_cpu_init();
  if (!up_to_baseline && !up_to_avx2 && __builtin_cpu_supports("avx512f")) return {"avx512", &isa_avx512::kernels};
  if (!up_to_baseline && __builtin_cpu_supports("avx2")) return {"avx2", &isa_avx2::kernels};
#endif
  return {"baseline", &isa_baseline::kernels};
}

const Choice& choice() {
  static const Choice chosen = choose();
  return chosen;
}

template <class T>
const PanelKernels<T>& panel_kernels();
template <>
const PanelKernels<double>& panel_kernels<double>() {
  return choice().kernels->f64;
}
template <>
const PanelKernels<float>& panel_kernels<float>() {
  return choice().kernels->f32;
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

const char* simd_level() { return choice().name; }

template <class T>
void quantiles(const T* matrix, T* out, std::size_t rows, std::size_t length, int threads) {
  const auto sort_across = panel_kernels<T>().sort_across;
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
