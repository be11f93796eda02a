// The kernels of weighted spaces and of labellings on a CPU, beside those of cuda_on_cpu.hpp.
#include <atomic>

#include "cuda_on_cpu.hpp"

inline long long __double2ll_rn(double value) { return std::llrint(value); }
inline void atomicAdd(unsigned long long* sum, unsigned long long value) { std::atomic_ref(*sum).fetch_add(value); }

#include "stretches.cu"

#include "stretch_sweep.cu"

#include "stretch_weights.cu"

#include "labelled.cu"

// A kernel as a function to call from outside: the grid, then its arguments.
template <auto kernel> struct OnCpu;
template <typename... Arguments, void (*kernel)(Arguments...)> struct OnCpu<kernel> {
  static void run(unsigned grid_x, unsigned grid_y, Arguments... arguments) {
    launch(grid_x, grid_y, [=] { kernel(arguments...); });
  }
};
#define RUN_ON_CPU(kernel) \
  extern "C" { void (*run_##kernel)() = reinterpret_cast<void (*)()>(&OnCpu<&kernel>::run); }

RUN_ON_CPU(row_heights)
RUN_ON_CPU(mark_starts)
RUN_ON_CPU(place_events)
RUN_ON_CPU(start_heights)
RUN_ON_CPU(weigh_heights)
RUN_ON_CPU(lower_heights)
RUN_ON_CPU(arrange_events)
RUN_ON_CPU(pass_heights)
RUN_ON_CPU(sweep_stretches)
RUN_ON_CPU(sum_stretches)
RUN_ON_CPU(turn_events)
RUN_ON_CPU(rest_rows)
RUN_ON_CPU(collect_rests)
RUN_ON_CPU(collect_turns)
RUN_ON_CPU(raise_rows)
RUN_ON_CPU(labelled_levels)
