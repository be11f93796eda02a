// Anchor Energies of all pairs of two lists of spaces, and averages over grids, for `_pairs.py`. Compiled with
//   THREADS a block; LANES that sweep one pair's events together, 32 at most; ROWS that they can hold, of both spaces;
//   STRETCH and ROW_STRETCH, the least events of a stretch, in all and for every row.
// Sums are written so that nothing is fused, and none depends on what else is computed beside it: all devices give the
// same bits. Of uniform spaces and of grids they are the bits of native/merge.cpp and native/grid.cpp: the operations
// are the same, in the same order.
//
// Letters: u, v the two samples of one level, n and m numbers; K, L levels of the two spaces; D as in native/merge.cpp.

typedef long long Int;
typedef unsigned long long Word;

__device__ __forceinline__ double plus_product(double sum, double a, double b) {
  return __dadd_rn(sum, __dmul_rn(a, b));
}

// The levels of one space: number i of level k at numbers[i * levels + k], so that lanes at neighbouring levels read
// neighbouring numbers.
struct Levels {
  const double* numbers;
  int levels, count;
};
__device__ __forceinline__ Levels levels_of(const double* numbers, const Int* place, Int space) {
  const Int* own = place + 3 * space;
  return {numbers + own[0], (int)own[1], (int)own[2]};
}

// Segment s of the common refinement of {k/K} and {l/L}; width 0 past the last.
struct Segment {
  int k, l;
  double width;
};
__device__ __forceinline__ Segment segment_of(int K, int L, int s) {
  if (K == L) return {s, s, s < K ? (double)K * (1.0 / ((double)K * (double)L)) : 0.0};
  int common = K, rest = L;  // their greatest common divisor, by Euclid
  while (rest) {
    const int next = common % rest;
    common = rest;
    rest = next;
  }
  // The refinement repeats `common` times. Within a period every cut ends a level of one side alone, so that the
  // levels at segment r have k + l = r, and k is what keeps both from ending before the segment does.
  const Int a = K / common, b = L / common, period = s / (a + b - 1), r = s % (a + b - 1);
  if (period >= common) return {0, 0, 0.0};
  const Int k = (r + 1) * a / (a + b), l = r - k;
  const Int start = k * b > l * a ? k * b : l * a, end = (k + 1) * b < (l + 1) * a ? (k + 1) * b : (l + 1) * a;
  const double unit = 1.0 / ((double)K * (double)L);
  return {(int)(period * a + k), (int)(period * b + l), (double)((end - start) * common) * unit};
}

// integral of D^2 at one level: native/two_ended_merge.hpp. A step looks one number past what it takes; there is always
// one in memory, whosever it is.
__device__ __forceinline__ double merged_squares(
    const double* u, Int step_u, int n, const double* v, Int step_v, int m) {
  const int steps = n < m ? n : m;
  const double unit = 1.0 / ((double)n * (double)m);
  const double *u_top = u + (n - 1) * step_u, *v_top = v + (m - 1) * step_v;
  const double up = m, down = -n;                              // what a number of u or of v adds to D, in units
  double a = *u, b = *v, c = *u_top, e = *v_top, q = 0, r = 0;  // q, r: D from below and from above, in units
  double low = b < a ? b : a, high = c < e ? e : c, sum_low = 0, sum_high = 0;
  int i = 0, j = 0;
  for (int s = 0; s < steps; s++) {
    const bool from_u = a <= b;
    const double z = from_u ? a : b, d = q * unit;
    sum_low = plus_product(sum_low, z - low, d * d);
    low = z;
    q += from_u ? up : down;
    i += from_u;
    if (from_u) u += step_u; else v += step_v;
    const double next = from_u ? *u : *v;
    a = from_u ? next : a;
    b = from_u ? b : next;

    const bool top_u = c > e;
    const double y = top_u ? c : e, g = r * unit;
    sum_high = plus_product(sum_high, high - y, g * g);
    high = y;
    r += top_u ? up : down;
    j += top_u;
    if (top_u) u_top -= step_u; else v_top -= step_v;
    const double before = top_u ? *u_top : *v_top;
    c = top_u ? before : c;
    e = top_u ? e : before;
  }
  int k = steps - i;  // numbers of v taken from below
  const int i_end = n - j, k_end = m - (steps - j);
  for (int s = steps; s < n + m - steps; s++) {
    const bool from_u = k == k_end || (i < i_end && *u <= *v);
    const double z = from_u ? *u : *v, d = q * unit;
    sum_low = plus_product(sum_low, z - low, d * d);
    low = z;
    q += from_u ? up : down;
    if (from_u) { i++; u += step_u; } else { k++; v += step_v; }
  }
  const double d = q * unit;
  return __dadd_rn(plus_product(sum_low, high - low, d * d), sum_high);
}

// Every segment of every pair, a thread each: part[pair * most + s], 0 past a pair's last segment.
extern "C" __global__ void __launch_bounds__(THREADS) level_parts(
    const double* x, const Int* x_place, const double* y, const Int* y_place, double* part, Int first_row, Int columns,
    Int most, Int total) {
  const Int place = (Int)blockIdx.x * THREADS + threadIdx.x;
  if (place >= total) return;
  const Int pair = place / most;
  const Levels u = levels_of(x, x_place, first_row + pair / columns), v = levels_of(y, y_place, pair % columns);
  const Segment at = segment_of(u.levels, v.levels, (int)(place % most));
  double energy = 0;
  if (at.width > 0) {
    energy = at.width * 2 * merged_squares(u.numbers + at.k, u.levels, u.count, v.numbers + at.l, v.levels, v.count);
  }
  part[place] = energy;
}

// Sums of every pair's parts, in their order.
extern "C" __global__ void __launch_bounds__(THREADS) sum_parts(const double* part, double* out, Int pairs, Int most) {
  const Int pair = (Int)blockIdx.x * THREADS + threadIdx.x;
  if (pair >= pairs) return;
  double sum = 0;
  for (Int s = 0; s < most; s++) sum += part[pair * most + s];
  out[pair] = sum;
}

// 2 integral (x - y)^2 of two step functions, a thread a pair: AE of p = 2 from mean quantiles. place: where a space's
// steps begin, and how many they are.
extern "C" __global__ void __launch_bounds__(THREADS) step_pairs(
    const double* x_value, const double* x_end, const double* x_origin, const Int* x_place, const double* y_value,
    const double* y_end, const double* y_origin, const Int* y_place, double* out, Int first_row, Int columns,
    Int pairs) {
  const Int pair = (Int)blockIdx.x * THREADS + threadIdx.x;
  if (pair >= pairs) return;
  const Int row = first_row + pair / columns, column = pair % columns;
  Int i = x_place[2 * row], j = y_place[2 * column];
  const Int i_end = i + x_place[2 * row + 1], j_end = j + y_place[2 * column + 1];
  const double apart = x_origin[row] - y_origin[column];
  double here = 0, sum = 0;
  while (i < i_end && j < j_end) {  // both end at 1
    const double end_x = x_end[i], end_y = y_end[j], end = end_x < end_y ? end_x : end_y;
    const double d = (x_value[i] - y_value[j]) + apart;
    sum = plus_product(sum, end - here, d * d);
    here = end;
    i += end_x == end;
    j += end_y == end;
  }
  out[pair] = 2 * sum;
}

// -- any weights: native/sweep.cpp, a group of LANES a stretch of a pair's events -----------------------------------

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

// This lane's share of the integral of D^2 over heights, as a sum of squares.
__device__ __forceinline__ double heights_energy(const Heights& state, int rows) {
  double sum = 0;
  for (int k = lane_of(); k + 1 < rows; k += LANES) {
    sum = plus_product(sum, (double)(state.height[k + 1] - state.height[k]), state.d[k] * state.d[k]);
  }
  return sum;
}

// Lift a row of mass s from h to h + jump; returns this lane's share of the change of the energy, s^2 jump - 2 s A with
//   A = integral of D from h to h + jump = jump d + sum over the rows passed of their mass (h + jump - their height),
// rows at h that stand behind this one being passed too, and d the mass up to its own place.
__device__ __forceinline__ double lift(Heights& state, int rows, int row, Int jump) {
  const int lane = lane_of();
  const double s = state.mass[row];
  int k = state.place[row], passed = LANES;
  const Int target = state.height[k] + jump;
  double d = state.d[k], change = lane == 0 ? s * (double)jump * (s - 2 * d) : 0;
  while (passed == LANES) {
    const int at = k + 1 + lane;
    const Int height = at < rows ? state.height[at] : target;
    const double own = at < rows ? state.d[at] : 0;
    const unsigned short other = at < rows ? state.row[at] : 0;
    passed = __popc(group_ballot(height < target));
    group_sync();
    if (lane < passed) {
      change = plus_product(change, -2 * s * state.mass[other], (double)(target - height));
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

// 2 integral f over the stretch from merged event `begin` to `end`, and the gap after it. Every lane has a share of f;
// the integrals of all are added up at the end.
__device__ __forceinline__ double swept(Heights& state, const Events& x, const Events& y, int begin, int end) {
  const int rows = x.rows + y.rows, lane = lane_of(), last = end < x.count + y.count ? end : end - 1;
  const double start = x.position[0] < y.position[0] ? x.position[0] : y.position[0], share = 1.0 / (double)rows;
  int i = merge_place(x.position, x.count, y.position, y.count, begin), j = begin - i;
  begin_heights(state, x, y, i, j);
  double f = heights_energy(state, rows), sum = 0;
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
      if (next - here > __dmul_rn(share, next - start)) f = heights_energy(state, rows);
      sum = plus_product(sum, next - here, f);
      here = next;
      if (e + t < end) f = __dadd_rn(f, lift(state, rows, from_lane(row, t), from_lane(jump, t)));
    }
    i += __popc(group_ballot(is_there && of_x));
    j = e + LANES - i;
  }
  sum = group_sum(sum) * (2.0 / (double)(1LL << 62));
  return sum > 0 ? sum : 0;
}

// Every stretch of every pair, LANES threads each: part[pair * most + k].
extern "C" __global__ void __launch_bounds__(THREADS) sweep_parts(
    const double* x_position, const unsigned* x_row, const Int* x_jump, const double* x_mass, const Int* x_place,
    const double* y_position, const unsigned* y_row, const Int* y_jump, const double* y_mass, const Int* y_place,
    double* part, Int first_row, Int columns, Int most, Int total) {
  __shared__ Heights states[THREADS / LANES];
  const Int place = (Int)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
  if (place >= total) return;
  const Int pair = place / most;
  const Events x = events_of(x_position, x_row, x_jump, x_mass, x_place, first_row + pair / columns);
  const Events y = events_of(y_position, y_row, y_jump, y_mass, y_place, pair % columns);
  const int events = x.count + y.count, rows = x.rows + y.rows;
  const int length = ROW_STRETCH * rows > STRETCH ? ROW_STRETCH * rows : STRETCH;
  const Int begin = place % most * length;
  double sum = 0;
  if (begin < events) {
    const int end = events - begin < length ? events : (int)begin + length;
    sum = swept(states[threadIdx.x / LANES], x, y, (int)begin, end);
  }
  if (lane_of() == 0) part[place] = sum;
}

// -- averages over the cells of a grid: native/grid.cpp, a thread a space's cell of t -------------------------------

// levels[(space * K + k) * n + i]; out[(space * cells_x + x) * cells_t + t]; sums: two numbers for every cell, and for
// one more along x.
extern "C" __global__ void __launch_bounds__(THREADS) cell_averages(
    const double* levels, double* sums, double* out, const double* range, Int spaces, Int K, Int n, Int cells_x,
    Int cells_t) {
  const Int place = (Int)blockIdx.x * THREADS + threadIdx.x;
  if (place >= spaces * cells_t) return;
  const Int space = place / cells_t, t = place % cells_t;
  const double half_low = 0.5 * range[0], scale = (double)cells_x / (0.5 * range[1] - half_low);
  const double height = (double)cells_t / (double)K, mass = 1.0 / (double)n, right = (double)cells_x;
  double* own = sums + place * 2 * (cells_x + 1);
  for (Int x = 0; x < 2 * (cells_x + 1); x++) own[x] = 0;
  Int k = (Int)((double)t / height) - 1;  // the first level that may reach this cell
  for (k = k < 0 ? 0 : k; k < K; k++) {
    const double bottom = (double)k * height, top = (double)(k + 1) * height;
    const double from = bottom > (double)t ? bottom : (double)t, to = top < (double)(t + 1) ? top : (double)(t + 1);
    if (bottom >= (double)(t + 1)) break;
    if (to <= from) continue;
    const double share = mass * (to - from);
    for (Int i = 0; i < n; i++) {
      double x = __dmul_rn(0.5 * levels[(space * K + k) * n + i] - half_low, scale);
      x = x < 0 ? 0 : (right < x ? right : x);
      const Int cell = (Int)x;
      own[2 * cell] += share;
      own[2 * cell + 1] = plus_product(own[2 * cell + 1], share, (double)(cell + 1) - x);
    }
  }
  double left = 0;
  for (Int x = 0; x < cells_x; x++) {
    out[(space * cells_x + x) * cells_t + t] = left + own[2 * x + 1];
    left += own[2 * x];
  }
}
