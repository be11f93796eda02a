// Anchor Energies of all pairs of spaces of any weights, and SAW_1 with |D| for D^2: native/sweep.cpp, with LANES threads for a stretch of a pair's
// events. Follows pairs.cu, and is compiled together with it, with
//   LANES, 32 at most, that sweep together; ROWS that they can hold, of both spaces; STRETCH and ROW_STRETCH, the least
//   events of a stretch, in all and for every row.

typedef unsigned long long Word;

struct Events {
  const double *position, *mass;
  const unsigned* row;
  const Int* jump;
  int count, rows;
};
__device__ __forceinline__ Events events_of(
    const double* position, const unsigned* row, const Int* jump, const double* mass, const Int* place, Int space) {
  const Int* own = place + 4 * space;
  return {position + own[0], mass + own[2], row + own[0], jump + own[0], (int)own[1], (int)own[3]};
}

// Heights of all rows of both spaces in ascending order, the mass up to each place beside them, which row has which
// place, and the signed mass of each row.
struct Heights {
  Int height[ROWS];
  double mass[ROWS];
  union {
    double d[ROWS];
    Word by_row[ROWS];  // heights, before they are in order
  };
  unsigned short row[ROWS], place[ROWS];
};

__device__ __forceinline__ int lane_of() { return threadIdx.x % LANES; }
__device__ __forceinline__ unsigned group_mask() {
  return (LANES == 32 ? ~0u : (1u << LANES) - 1) << (threadIdx.x % 32 / LANES * LANES);
}
__device__ __forceinline__ unsigned group_ballot(bool vote) {
  return __ballot_sync(group_mask(), vote) >> (threadIdx.x % 32 / LANES * LANES);
}
__device__ __forceinline__ void group_sync() { __syncwarp(group_mask()); }
template <typename T> __device__ __forceinline__ T from_lane(T value, int lane) {
  return __shfl_sync(group_mask(), value, lane, LANES);
}
__device__ __forceinline__ double group_sum(double value) {  // the same for all lanes: a + b is b + a
#pragma unroll
  for (int apart = LANES / 2; apart > 0; apart /= 2) value += __shfl_xor_sync(group_mask(), value, apart, LANES);
  return value;
}

// How many of the first `diagonal` events of the merged order are x's, which come first where positions are equal.
__device__ __forceinline__ int merge_place(const double* x, int n, const double* y, int m, int diagonal) {
  int low = diagonal > m ? diagonal - m : 0, high = diagonal < n ? diagonal : n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (x[middle] <= y[diagonal - 1 - middle]) low = middle + 1; else high = middle;
  }
  return low;
}

// Lift rows by the first `count` events: integers, in any order.
__device__ __forceinline__ void add_jumps(Word* by_row, const Events& side, int count) {
  const int lane = lane_of();
  int e = lane;
  for (; e + 3 * LANES < count; e += 4 * LANES) {  // four loads under way at a time
    unsigned row[4];
    Int jump[4];
#pragma unroll
    for (int t = 0; t < 4; t++) {
      row[t] = side.row[e + t * LANES];
      jump[t] = side.jump[e + t * LANES];
    }
#pragma unroll
    for (int t = 0; t < 4; t++) atomicAdd(&by_row[row[t]], (Word)jump[t]);
  }
  for (; e < count; e += LANES) atomicAdd(&by_row[side.row[e]], (Word)side.jump[e]);
}

// All heights after the first i events of x and the first j of y.
__device__ __forceinline__ void begin_heights(Heights& state, const Events& x, const Events& y, int i, int j) {
  const int rows = x.rows + y.rows, lane = lane_of();
  Word* by_row = state.by_row;
  for (int r = lane; r < rows; r += LANES) {
    by_row[r] = 0;
    state.mass[r] = r < x.rows ? x.mass[r] : -y.mass[r - x.rows];
  }
  group_sync();
  add_jumps(by_row, x, i);
  add_jumps(by_row + x.rows, y, j);
  group_sync();
  for (int r = lane; r < rows; r += LANES) {
    int place = 0;
    for (int q = 0; q < rows; q++) place += by_row[q] < by_row[r] || (by_row[q] == by_row[r] && q < r);
    state.place[r] = (unsigned short)place;
    state.row[place] = (unsigned short)r;
    state.height[place] = (Int)by_row[r];
  }
  group_sync();
  double d = 0;
  for (int k = 0; lane == 0 && k < rows; k++) state.d[k] = d += state.mass[state.row[k]];
  group_sync();
}

// This lane's share of the integral of D^2, or of |D|, over heights.
template <bool ABSOLUTE> __device__ __forceinline__ double heights_energy(const Heights& state, int rows) {
  double sum = 0;
  for (int k = lane_of(); k + 1 < rows; k += LANES) {
    const double d = state.d[k], height = (double)(state.height[k + 1] - state.height[k]);
    sum = plus_product(sum, height, ABSOLUTE ? fabs(d) : d * d);
  }
  return sum;
}

// Lift a row of mass s from h to h + jump; returns this lane's share of the change of the energy, s^2 jump - 2 s A with
//   A = integral of D from h to h + jump = jump d + sum over the rows passed of their mass (h + jump - their height),
// rows at h that stand behind this one being passed too, and d the mass up to its own place. Of |D| the change is the
// integral of |D - s| - |D| from h to h + jump.
template <bool ABSOLUTE> __device__ __forceinline__ double lift(Heights& state, int rows, int row, Int jump) {
  const int lane = lane_of();
  const double s = state.mass[row];
  int k = state.place[row], passed = LANES;
  const Int target = state.height[k] + jump;
  Int here = state.height[k];
  double d = state.d[k], change = lane == 0 && !ABSOLUTE ? s * (double)jump * (s - 2 * d) : 0;
  while (passed == LANES) {
    const int at = k + 1 + lane;
    const Int height = at < rows ? state.height[at] : target;
    const double own = at < rows ? state.d[at] : 0;
    const unsigned short other = at < rows ? state.row[at] : 0;
    passed = __popc(group_ballot(height < target));
    if (ABSOLUTE) {  // between the entry below this lane's and its own, or the target
      const Int before = from_lane(height, lane > 0 ? lane - 1 : 0), below = lane > 0 ? before : here;
      const double d_before = from_lane(own, lane > 0 ? lane - 1 : 0), d_below = lane > 0 ? d_before : d;
      const Int top = height < target ? height : target;
      if (below < target) change = plus_product(change, (double)(top - below), fabs(d_below - s) - fabs(d_below));
      if (passed > 0) here = from_lane(height, passed - 1);
    }
    group_sync();
    if (lane < passed) {
      if (!ABSOLUTE) change = plus_product(change, -2 * s * state.mass[other], (double)(target - height));
      state.height[at - 1] = height;
      state.d[at - 1] = own - s;
      state.row[at - 1] = other;
      state.place[other] = (unsigned short)(at - 1);
    }
    if (passed > 0) d = from_lane(own, passed - 1);
    k += passed;
    group_sync();
  }
  if (lane == 0) {
    state.height[k] = target;
    state.d[k] = d;
    state.row[k] = (unsigned short)row;
    state.place[row] = (unsigned short)k;
  }
  group_sync();
  return change;
}

// 2 integral f, or of |D| once, over the stretch from merged event `begin` to `end`, and the gap after it. Every lane has a share of f;
// the integrals of all are added up at the end.
template <bool ABSOLUTE> __device__ __forceinline__ double swept(Heights& state, const Events& x, const Events& y, int begin, int end) {
  const int rows = x.rows + y.rows, lane = lane_of(), last = end < x.count + y.count ? end : end - 1;
  const double start = x.position[0] < y.position[0] ? x.position[0] : y.position[0], share = 1.0 / (double)rows;
  int i = merge_place(x.position, x.count, y.position, y.count, begin), j = begin - i;
  begin_heights(state, x, y, i, j);
  double f = heights_energy<ABSOLUTE>(state, rows), sum = 0;
  double here = j == y.count || (i < x.count && x.position[i] <= y.position[j]) ? x.position[i] : y.position[j];
  for (int e = begin; e <= last; e += LANES) {
    // This lane's event of the next LANES.
    const int left_x = x.count - i < LANES ? x.count - i : LANES, left_y = y.count - j < LANES ? y.count - j : LANES;
    const bool is_there = lane < left_x + left_y;
    const int diagonal = is_there ? lane : left_x + left_y - 1;
    const int own_i = i + merge_place(x.position + i, left_x, y.position + j, left_y, diagonal);
    const int own_j = j + i + diagonal - own_i;
    const bool of_x = own_j == y.count || (own_i < x.count && x.position[own_i] <= y.position[own_j]);
    const double position = of_x ? x.position[own_i] : y.position[own_j];
    const int row = of_x ? (int)x.row[own_i] : x.rows + (int)y.row[own_j];
    const Int jump = of_x ? x.jump[own_i] : y.jump[own_j];
    for (int t = 0; t < LANES && e + t <= last; t++) {
      const double next = from_lane(position, t);
      if (next - here > __dmul_rn(share, next - start)) f = heights_energy<ABSOLUTE>(state, rows);
      sum = plus_product(sum, next - here, f);
      here = next;
      if (e + t < end) f = __dadd_rn(f, lift<ABSOLUTE>(state, rows, from_lane(row, t), from_lane(jump, t)));
    }
    i += __popc(group_ballot(is_there && of_x));
    j = e + LANES - i;
  }
  sum = group_sum(sum) * ((ABSOLUTE ? 1.0 : 2.0) / (double)(1LL << 62));
  return sum > 0 ? sum : 0;
}

// Every stretch of every pair, LANES threads each: part[pair * most + k]. Without columns as in `level_parts`.
template <bool ABSOLUTE> __device__ __forceinline__ void sweep_pair(
    const double* x_position, const unsigned* x_row, const Int* x_jump, const double* x_mass, const Int* x_place,
    const double* y_position, const unsigned* y_row, const Int* y_jump, const double* y_mass, const Int* y_place,
    double* part, Int first_row, Int columns, Int most, Int total, Heights* states) {
  const Int place = (Int)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
  if (place >= total) return;
  const Int pair = place / most;
  const Int i = first_row + (columns ? pair / columns : pair), j = columns ? pair % columns : first_row + pair;
  const Events x = events_of(x_position, x_row, x_jump, x_mass, x_place, i);
  const Events y = events_of(y_position, y_row, y_jump, y_mass, y_place, j);
  const int events = x.count + y.count, rows = x.rows + y.rows;
  const int length = ROW_STRETCH * rows > STRETCH ? ROW_STRETCH * rows : STRETCH;
  const Int begin = place % most * length;
  double sum = 0;
  if (begin < events) {
    const int end = events - begin < length ? events : (int)begin + length;
    sum = swept<ABSOLUTE>(states[threadIdx.x / LANES], x, y, (int)begin, end);
  }
  if (lane_of() == 0) part[place] = sum;
}
extern "C" __global__ void __launch_bounds__(THREADS) sweep_parts(
    const double* x_position, const unsigned* x_row, const Int* x_jump, const double* x_mass, const Int* x_place,
    const double* y_position, const unsigned* y_row, const Int* y_jump, const double* y_mass, const Int* y_place,
    double* part, Int first_row, Int columns, Int most, Int total) {
  __shared__ Heights states[THREADS / LANES];
  sweep_pair<false>(x_position, x_row, x_jump, x_mass, x_place, y_position, y_row, y_jump, y_mass, y_place, part, first_row,
             columns, most, total, states);
}
extern "C" __global__ void __launch_bounds__(THREADS) sweep_gap_parts(
    const double* x_position, const unsigned* x_row, const Int* x_jump, const double* x_mass, const Int* x_place,
    const double* y_position, const unsigned* y_row, const Int* y_jump, const double* y_mass, const Int* y_place,
    double* part, Int first_row, Int columns, Int most, Int total) {
  __shared__ Heights states[THREADS / LANES];
  sweep_pair<true>(x_position, x_row, x_jump, x_mass, x_place, y_position, y_row, y_jump, y_mass, y_place, part, first_row,
             columns, most, total, states);
}
