// What the kernels for all pairs need besides: a warp's means of communication. A block is one group of lanes here.
#include <atomic>

inline void __syncwarp(unsigned) { __syncthreads(); }
template <typename T> T of_lane(T value, int lane) {
  static T said[THREADS];
  said[threadIdx.x] = value;
  __syncthreads();
  const T received = said[lane];
  __syncthreads();
  return received;
}
template <typename T> T __shfl_sync(unsigned, T value, int lane, int) { return of_lane(value, lane); }
template <typename T> T __shfl_xor_sync(unsigned, T value, int apart, int) {
  return of_lane(value, static_cast<int>(threadIdx.x) ^ apart);
}
inline unsigned __ballot_sync(unsigned, bool vote) {
  unsigned votes = 0;
  for (int lane = 0; lane < THREADS; lane++) votes |= static_cast<unsigned>(of_lane(vote, lane)) << lane;
  return votes;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline void atomicAdd(unsigned long long* place, unsigned long long value) { std::atomic_ref(*place) += value; }

#include "pairs.cu"
#include "pair_sweeps.cu"
#include "pair_gaps.cu"

extern "C" void run_level_parts(unsigned grid_x, unsigned grid_y, const double* x, const Int* x_place, const double* y,
                                const Int* y_place, double* part, Int first_row, Int columns, Int most, Int total) {
  launch(grid_x, grid_y, [=] { level_parts(x, x_place, y, y_place, part, first_row, columns, most, total); });
}
extern "C" void run_sum_parts(unsigned grid_x, unsigned grid_y, const double* part, double* out, Int pairs, Int most) {
  launch(grid_x, grid_y, [=] { sum_parts(part, out, pairs, most); });
}
extern "C" void run_step_pairs(unsigned grid_x, unsigned grid_y, const double* x_value, const double* x_end,
                               const double* x_origin, const Int* x_place, const double* y_value, const double* y_end,
                               const double* y_origin, const Int* y_place, double* out, Int first_row, Int columns,
                               Int pairs) {
  launch(grid_x, grid_y, [=] {
    step_pairs(x_value, x_end, x_origin, x_place, y_value, y_end, y_origin, y_place, out, first_row, columns, pairs);
  });
}
extern "C" void run_sweep_parts(unsigned grid_x, unsigned grid_y, const double* x_position, const unsigned* x_row,
                                const Int* x_jump, const double* x_mass, const Int* x_place, const double* y_position,
                                const unsigned* y_row, const Int* y_jump, const double* y_mass, const Int* y_place,
                                double* part, Int first_row, Int columns, Int most, Int total) {
  launch(grid_x, grid_y, [=] {
    sweep_parts(x_position, x_row, x_jump, x_mass, x_place, y_position, y_row, y_jump, y_mass, y_place, part, first_row,
                columns, most, total);
  });
}
extern "C" void run_sweep_gap_parts(unsigned grid_x, unsigned grid_y, const double* x_position, const unsigned* x_row,
                                    const Int* x_jump, const double* x_mass, const Int* x_place, const double* y_position,
                                const unsigned* y_row, const Int* y_jump, const double* y_mass, const Int* y_place,
                                    double* part, Int first_row, Int columns, Int most, Int total) {
  launch(grid_x, grid_y, [=] {
    sweep_gap_parts(x_position, x_row, x_jump, x_mass, x_place, y_position, y_row, y_jump, y_mass, y_place, part, first_row,
                columns, most, total);
  });
}
extern "C" void run_cell_averages(unsigned grid_x, unsigned grid_y, const double* levels, double* sums, double* out,
                                  const double* range, Int spaces, Int K, Int n, Int cells_x, Int cells_t) {
  launch(grid_x, grid_y, [=] { cell_averages(levels, sums, out, range, spaces, K, n, cells_x, cells_t); });
}
extern "C" void run_gap_sums(unsigned grid_x, unsigned grid_y, const double* x, const double* y, double* out, Int rows,
                             Int columns, Int size, Int p) {
  launch(grid_x, grid_y, [=] { gap_sums(x, y, out, rows, columns, size, p); });
}
extern "C" void run_gap_parts(unsigned grid_x, unsigned grid_y, const double* x, const double* y, double* part,
                              Int first_row, Int columns, Int K, Int n, Int L, Int m, Int p, Int most, Int total) {
  launch(grid_x, grid_y, [=] { gap_parts(x, y, part, first_row, columns, K, n, L, m, p, most, total); });
}
