// Sliced Anchor Wasserstein of all pairs of uniform spaces: native/transport.cpp and simd_kernels.cpp, to the same bits.
// Follows pairs.cu and pair_sweeps.cu, and is compiled together with them. Gaps are summed in GAP_LANES lanes, chunk by
// chunk of GAP_CHUNK numbers, each lane's numbers in turn; LANES threads share the lanes of GAP_TILE x GAP_TILE pairs.

#define GAP_LANES 32
#define GAP_CHUNK 2048
#define GAP_TILE 4
#define OWN_LANES (GAP_LANES / LANES)  // of a thread

__device__ __forceinline__ double gap_power(double x, double y, int p) {
  const double gap = __dadd_rn(x, -y);
  return p == 1 ? fabs(gap) : __dmul_rn(gap, gap);
}

// The lanes of a chunk added up in the order of native/simd_kernels.cpp; the same for all threads of the group.
__device__ __forceinline__ double add_lanes(double* own) {
#pragma unroll
  for (int half = OWN_LANES / 2; half > 0; half /= 2) {
#pragma unroll
    for (int q = 0; q < half; q++) own[q] = __dadd_rn(own[q], own[q + half]);
  }
  return group_sum(own[0]);
}

// The powers of the gaps between number `at` of GAP_TILE spaces and of as many others.
template <int P>
__device__ __forceinline__ void add_gaps(
    const double* const (&u)[GAP_TILE], const double* const (&v)[GAP_TILE], Int at,
    double (&sum)[GAP_TILE][GAP_TILE][OWN_LANES], int q) {
  double a[GAP_TILE], b[GAP_TILE];
#pragma unroll
  for (int i = 0; i < GAP_TILE; i++) {
    a[i] = u[i][at];
    b[i] = v[i][at];
  }
#pragma unroll
  for (int i = 0; i < GAP_TILE; i++) {
#pragma unroll
    for (int j = 0; j < GAP_TILE; j++) sum[i][j][q] = __dadd_rn(sum[i][j][q], gap_power(a[i], b[j], P));
  }
}

template <int P>
__device__ __forceinline__ void sum_gaps(
    const double* x, const double* y, double* out, Int rows, Int columns, Int size) {
  const int groups = THREADS / LANES, across = groups >= 4 ? 2 : 1, down = groups / across;  // tiles of a block
  const int group = threadIdx.x / LANES, lane = lane_of();
  const Int row = ((Int)blockIdx.x * down + group / across) * GAP_TILE;
  const Int column = ((Int)blockIdx.y * across + group % across) * GAP_TILE;
  if (row >= rows || column >= columns) return;
  const double *u[GAP_TILE], *v[GAP_TILE];
  double total[GAP_TILE][GAP_TILE];
#pragma unroll
  for (int i = 0; i < GAP_TILE; i++) {  // past the last space the last one stands in
    u[i] = x + (row + i < rows ? row + i : rows - 1) * size;
    v[i] = y + (column + i < columns ? column + i : columns - 1) * size;
#pragma unroll
    for (int j = 0; j < GAP_TILE; j++) total[i][j] = 0;
  }
  for (Int begin = 0; begin < size; begin += GAP_CHUNK) {
    const Int end = size - begin < GAP_CHUNK ? size : begin + GAP_CHUNK;
    double sum[GAP_TILE][GAP_TILE][OWN_LANES];
#pragma unroll
    for (int i = 0; i < GAP_TILE; i++) {
#pragma unroll
      for (int j = 0; j < GAP_TILE; j++) {
#pragma unroll
        for (int q = 0; q < OWN_LANES; q++) sum[i][j][q] = 0;
      }
    }
    Int k = begin + lane;
#pragma unroll 2
    for (; k - lane + GAP_LANES <= end; k += GAP_LANES) {
#pragma unroll
      for (int q = 0; q < OWN_LANES; q++) add_gaps<P>(u, v, k + q * LANES, sum, q);
    }
#pragma unroll
    for (int q = 0; q < OWN_LANES; q++) {
      if (k + q * LANES < end) add_gaps<P>(u, v, k + q * LANES, sum, q);
    }
#pragma unroll
    for (int i = 0; i < GAP_TILE; i++) {
#pragma unroll
      for (int j = 0; j < GAP_TILE; j++) total[i][j] = __dadd_rn(total[i][j], add_lanes(sum[i][j]));
    }
  }
#pragma unroll
  for (int i = 0; i < GAP_TILE; i++) {
#pragma unroll
    for (int j = 0; j < GAP_TILE; j++) {
      if (lane == 0 && row + i < rows && column + j < columns) out[(row + i) * columns + column + j] = total[i][j];
    }
  }
}

// Sums over all `size` numbers of |x - y|^p, of all pairs of spaces of one shape, whose numbers stand one after another.
extern "C" __global__ void __launch_bounds__(THREADS) gap_sums(
    const double* x, const double* y, double* out, Int rows, Int columns, Int size, Int p) {
  if (p == 1) sum_gaps<1>(x, y, out, rows, columns, size);
  else sum_gaps<2>(x, y, out, rows, columns, size);
}

// Spaces of two shapes (levels K and L, n and m numbers at each), a thread for each segment of a pair's levels:
// part[pair * most + s], the sum over the common refinement of the shares of n and of m numbers.
extern "C" __global__ void __launch_bounds__(THREADS) gap_parts(
    const double* x, const double* y, double* part, Int first_row, Int columns, Int K, Int n, Int L, Int m, Int p,
    Int most, Int total) {
  const Int place = (Int)blockIdx.x * THREADS + threadIdx.x;
  if (place >= total) return;
  const Int pair = place / most, row = first_row + pair / columns, column = pair % columns;
  const Segment at = segment_of((int)K, (int)L, (int)(place % most));
  const double *u = x + (row * K + at.k) * n, *v = y + (column * L + at.l) * m;
  const double unit = 1.0 / ((double)n * (double)m);
  double next = 0, second = 0, third = 0, last = 0;  // four sums, which take turns
  Int i = 0, j = 0, here = 0;  // shares in those units
  while (i < n) {
    const Int end_x = (i + 1) * m, end_y = (j + 1) * n, end = end_x < end_y ? end_x : end_y;
    const double sum = plus_product(next, __dmul_rn((double)(end - here), unit), gap_power(u[i], v[j], (int)p));
    next = second;
    second = third;
    third = last;
    last = sum;
    here = end;
    i += end_x == end;
    j += end_y == end;
  }
  part[place] = __dmul_rn(at.width, __dadd_rn(__dadd_rn(next, third), __dadd_rn(second, last)));
}
