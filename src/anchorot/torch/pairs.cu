// Anchor Energies of all pairs of two lists of spaces, and averages over grids, for `_pairs.py`. Compiled with
//   THREADS a block.
// Sums are written so that nothing is fused, and none depends on what else is computed beside it: all devices give the
// same bits. Of uniform spaces and of grids they are the bits of native/merge.cpp and native/grid.cpp: the operations
// are the same, in the same order.
//
// Letters: u, v the two samples of one level, n and m numbers; K, L levels of the two spaces; D as in native/merge.cpp.

typedef long long Int;

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

// Every segment of every pair, a thread each: part[pair * most + s], 0 past a pair's last segment. Without columns, pairs
// are of the same place in both lists.
extern "C" __global__ void __launch_bounds__(THREADS) level_parts(
    const double* x, const Int* x_place, const double* y, const Int* y_place, double* part, Int first_row, Int columns,
    Int most, Int total) {
  const Int place = (Int)blockIdx.x * THREADS + threadIdx.x;
  if (place >= total) return;
  const Int pair = place / most;
  const Levels u = levels_of(x, x_place, first_row + (columns ? pair / columns : pair));
  const Levels v = levels_of(y, y_place, columns ? pair % columns : first_row + pair);
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
