// Just enough of CUDA to run the kernels' source on a CPU: every thread of a block is a thread, blocks run in turn.
#include <barrier>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

struct Index { unsigned x, y, z; };
thread_local Index threadIdx, blockIdx;
Index gridDim;
std::barrier<>* block_barrier;

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(n)
#define __shared__ static
inline void __syncthreads() { block_barrier->arrive_and_wait(); }

template <typename To, typename From> To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}
inline unsigned __float_as_uint(float value) { return bits_as<unsigned>(value); }
inline float __uint_as_float(unsigned value) { return bits_as<float>(value); }
inline long long __double_as_longlong(double value) { return bits_as<long long>(value); }
inline double __longlong_as_double(long long value) { return bits_as<double>(value); }

template <typename Kernel> void launch(unsigned grid_x, unsigned grid_y, const Kernel& kernel) {
  gridDim = {grid_x, grid_y, 1};
  std::barrier<> barrier(THREADS);
  block_barrier = &barrier;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < THREADS; t++)
    threads.emplace_back([&, t] {
      threadIdx = {t, 0, 0};
      for (unsigned y = 0; y < grid_y; y++)
        for (unsigned x = 0; x < grid_x; x++) {
          blockIdx = {x, y, 0};
          __syncthreads();  // shared memory is the next block's now
          kernel();
        }
    });
  for (auto& thread : threads) thread.join();
}

using std::sqrt;
#ifdef ALL_PAIRS
#include "pairs_on_cpu.hpp"
#else
#include "kernels.cu"

extern "C" void run_sort_tiles(unsigned grid_x, unsigned grid_y, const KEY* in, const Tag* tags_in, KEY* out,
                               Tag* tags_out, long long width, long long tiles) {
  launch(grid_x, grid_y, [=] { sort_tiles(in, tags_in, out, tags_out, width, tiles); });
}
extern "C" void run_merge_runs(unsigned grid_x, unsigned grid_y, const KEY* in, const Tag* tags_in, KEY* out,
                               Tag* tags_out, long long width, long long tiles, long long run) {
  launch(grid_x, grid_y, [=] { merge_runs(in, tags_in, out, tags_out, width, tiles, run); });
}
extern "C" void run_sort_sides(unsigned grid_x, unsigned grid_y, const KEY* x, const KEY* y, const Tag* tags_x,
                               const Tag* tags_y, KEY* out_x, KEY* out_y, Tag* tags_out_x, Tag* tags_out_y,
                               long long rows_x, int n, int m, int turned) {
  launch(grid_x, grid_y, [=] {
    sort_sides(x, y, tags_x, tags_y, out_x, out_y, tags_out_x, tags_out_y, rows_x, n, m, turned);
  });
}
extern "C" void run_level_energy(unsigned grid_x, unsigned grid_y, const KEY* x, const KEY* y, const long long* first_x,
                                 const long long* first_y, const long long* other_x, const long long* other_y,
                                 const double* width, const Tag* tags_x, const Tag* tags_y, KEY* gradient_x,
                                 KEY* gradient_y, double* energy, long long levels_x, long long levels_y, int n, int m,
                                 int chunk) {
  launch(grid_x, grid_y, [=] {
    level_energy(x, y, first_x, first_y, other_x, other_y, width, tags_x, tags_y, gradient_x, gradient_y, energy,
                 levels_x, levels_y, n, m, chunk);
  });
}
extern "C" void run_distances(unsigned grid_x, unsigned grid_y, const KEY* rows, const KEY* points, KEY* out,
                              long long n, int dimension) {
  launch(grid_x, grid_y, [=] { distances(rows, points, out, n, dimension); });
}
#endif
