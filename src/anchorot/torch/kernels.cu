// Sorts of rows by merging, the energy of sorted levels, and distances, for `_cuda.py`. Compiled at run time with
//   KEY float or double, THREADS (a power of two), ITEMS (odd: no bank conflicts), TAGGED 0 or 1.
// A block sorts one tile of a row; passes of merges then join the tiles. Keys are compared as integers in the order of
// the numbers, in which NaN comes last: every input has one sorted order.

#define TILE (THREADS * ITEMS)

template <typename T> struct BitsOf;
template <> struct BitsOf<float> { typedef unsigned int type; };
template <> struct BitsOf<double> { typedef unsigned long long type; };
typedef BitsOf<KEY>::type Bits;
typedef unsigned int Tag;

__device__ __forceinline__ unsigned int ordered(float value) {
  unsigned int bits = __float_as_uint(value);
  return bits ^ ((unsigned int)((int)bits >> 31) | 0x80000000u);
}
__device__ __forceinline__ unsigned long long ordered(double value) {
  unsigned long long bits = (unsigned long long)__double_as_longlong(value);
  return bits ^ ((unsigned long long)((long long)bits >> 63) | 0x8000000000000000ull);
}
__device__ __forceinline__ float number(unsigned int bits) {
  return __uint_as_float(bits ^ (((bits >> 31) - 1u) | 0x80000000u));
}
__device__ __forceinline__ double number(unsigned long long bits) {
  return __longlong_as_double((long long)(bits ^ (((bits >> 63) - 1ull) | 0x8000000000000000ull)));
}

// What a thread holds, and what a block shares.
struct Items {
  Bits key[ITEMS];
#if TAGGED
  Tag tag[ITEMS];
#endif
};
struct Tile {
  Bits key[TILE + 1];  // one more: a merge looks one past the end
#if TAGGED
  Tag tag[TILE + 1];
#endif
};

__device__ __forceinline__ void order_pair(Items& items, int i, int j) {
  bool swap = items.key[j] < items.key[i];
  Bits low = swap ? items.key[j] : items.key[i];
  items.key[j] = swap ? items.key[i] : items.key[j];
  items.key[i] = low;
#if TAGGED
  Tag first = swap ? items.tag[j] : items.tag[i];
  items.tag[j] = swap ? items.tag[i] : items.tag[j];
  items.tag[i] = first;
#endif
}

// Batcher's odd-even merge sort, step P, K and all after it; templates so that all is unrolled and stays in registers.
template <int P, int K> __device__ __forceinline__ void sort_items(Items& items) {
#pragma unroll
  for (int i = 0; i < ITEMS - K; i++) {
    const int skipped = K == P ? 0 : K;
    if (i >= skipped && (i - skipped) / K % 2 == 0 && i / (2 * P) == (i + K) / (2 * P)) order_pair(items, i, i + K);
  }
  if constexpr (K > 1) sort_items<P, K / 2>(items);
  else if constexpr (2 * P < ITEMS) sort_items<2 * P, 2 * P>(items);
}

// How many of the first `diagonal` numbers of the merged order come from a; equal numbers of a come first.
template <typename Number> __device__ __forceinline__ long long merge_path(
    const Number* a, long long n, const Number* b, long long m, long long diagonal) {
  long long low = diagonal > m ? diagonal - m : 0, high = diagonal < n ? diagonal : n;
  while (low < high) {
    long long middle = (low + high) / 2;
    if (ordered(a[middle]) <= ordered(b[diagonal - 1 - middle])) low = middle + 1; else high = middle;
  }
  return low;
}
__device__ __forceinline__ int tile_path(const Bits* a, int n, const Bits* b, int m, int diagonal) {
  int low = diagonal > m ? diagonal - m : 0, high = diagonal < n ? diagonal : n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (a[middle] <= b[diagonal - 1 - middle]) low = middle + 1; else high = middle;
  }
  return low;
}

// This thread's ITEMS numbers of the merge of tile[a, a + n) and tile[a + n, a + n + m), from `diagonal` on.
__device__ __forceinline__ void merge_items(Items& items, const Tile& tile, int a, int n, int m, int diagonal) {
  int from_a = tile_path(tile.key + a, n, tile.key + a + n, m, diagonal);
  int i = a + from_a, j = a + n + diagonal - from_a;
  const int end_a = a + n, end_b = a + n + m;
  Bits key_a = tile.key[i], key_b = tile.key[j];
#pragma unroll
  for (int t = 0; t < ITEMS; t++) {
    bool take_a = j >= end_b || (i < end_a && key_a <= key_b);
    items.key[t] = take_a ? key_a : key_b;
#if TAGGED
    items.tag[t] = tile.tag[take_a ? i : j];
#endif
    Bits next = tile.key[take_a ? i + 1 : j + 1];
    if (take_a) { i++; key_a = next; } else { j++; key_b = next; }
  }
}

__device__ __forceinline__ void to_tile(const Items& items, Tile& tile) {
  __syncthreads();
#pragma unroll
  for (int t = 0; t < ITEMS; t++) {
    tile.key[threadIdx.x * ITEMS + t] = items.key[t];
#if TAGGED
    tile.tag[threadIdx.x * ITEMS + t] = items.tag[t];
#endif
  }
  __syncthreads();
}

__device__ __forceinline__ void store(
    const Tile& tile, KEY* out, Tag* tags_out, long long base, int count, long long stride = 1) {
  for (int i = threadIdx.x; i < count; i += THREADS) {
    out[base + i * stride] = number(tile.key[i]);
#if TAGGED
    tags_out[base + i * stride] = tile.tag[i];
#endif
  }
}

// Sort `count` numbers from `base` on. `tags_in` may be null: then a number's tag is its place.
__device__ __forceinline__ void sort_tile(
    Tile& tile, const KEY* in, const Tag* tags_in, long long base, int count) {
  for (int i = threadIdx.x; i < TILE; i += THREADS) {
    tile.key[i] = i < count ? ordered(in[base + i]) : ~(Bits)0;
#if TAGGED
    if (i < count) tile.tag[i] = tags_in ? tags_in[base + i] : (Tag)(base + i);
#endif
  }
  __syncthreads();
  Items items;
#pragma unroll
  for (int t = 0; t < ITEMS; t++) {
    items.key[t] = tile.key[threadIdx.x * ITEMS + t];
#if TAGGED
    items.tag[t] = tile.tag[threadIdx.x * ITEMS + t];
#endif
  }
  sort_items<1, 1>(items);
  for (int run = ITEMS; run < TILE; run *= 2) {
    to_tile(items, tile);
    int place = threadIdx.x * ITEMS, pair = place / (2 * run) * (2 * run);
    merge_items(items, tile, pair, run, run, place - pair);
  }
  to_tile(items, tile);
}

// Sort every tile of every row.
extern "C" __global__ void __launch_bounds__(THREADS) sort_tiles(
    const KEY* in, const Tag* tags_in, KEY* out, Tag* tags_out, long long width, long long tiles) {
  __shared__ Tile tile;
  const long long start = (blockIdx.x % tiles) * TILE, base = (blockIdx.x / tiles) * width + start;
  const int count = width - start < TILE ? (int)(width - start) : TILE;
  sort_tile(tile, in, tags_in, base, count);
  store(tile, out, tags_out, base, count);
}

// Sort the rows of square matrices of two sides, each of which a tile holds; in columns of the result if `turned`.
extern "C" __global__ void __launch_bounds__(THREADS) sort_sides(
    const KEY* x, const KEY* y, const Tag* tags_x, const Tag* tags_y, KEY* out_x, KEY* out_y, Tag* tags_out_x,
    Tag* tags_out_y, long long rows_x, int n, int m, int turned) {
  __shared__ Tile tile;
  const bool of_x = blockIdx.x < rows_x;
  const long long row = of_x ? blockIdx.x : blockIdx.x - rows_x;
  const int width = of_x ? n : m;
  sort_tile(tile, of_x ? x : y, of_x ? tags_x : tags_y, row * width, width);
  const long long base = turned ? row / width * width * width + row % width : row * width;
  store(tile, of_x ? out_x : out_y, of_x ? tags_out_x : tags_out_y, base, width, turned ? width : 1);
}

// Merge neighbouring sorted runs of `run` numbers (a multiple of TILE) in every row; a block writes one tile.
extern "C" __global__ void __launch_bounds__(THREADS) merge_runs(
    const KEY* in, const Tag* tags_in, KEY* out, Tag* tags_out, long long width, long long tiles, long long run) {
  __shared__ Tile tile;
  __shared__ long long taken[2];
  const long long start = (blockIdx.x % tiles) * TILE, base = (blockIdx.x / tiles) * width;
  const long long pair = start / (2 * run) * (2 * run);
  const long long n = width - pair < run ? width - pair : run, rest = width - pair - n, m = rest < run ? rest : run;
  const KEY *a = in + base + pair, *b = a + n;
  const long long from = start - pair, to = from + TILE < n + m ? from + TILE : n + m;
  if (threadIdx.x < 2) taken[threadIdx.x] = merge_path(a, n, b, m, threadIdx.x ? to : from);
  __syncthreads();
  const long long a0 = taken[0], b0 = from - a0;
  const int from_a = (int)(taken[1] - a0), count = (int)(to - from);
  for (int i = threadIdx.x; i < TILE; i += THREADS) {
    const long long place = i < from_a ? a0 + i : n + b0 + i - from_a;
    tile.key[i] = i < count ? ordered(a[place]) : ~(Bits)0;
#if TAGGED
    if (i < count) tile.tag[i] = tags_in[base + pair + place];
#endif
  }
  __syncthreads();
  Items items;
  merge_items(items, tile, 0, from_a, TILE - from_a, threadIdx.x * ITEMS);
  to_tile(items, tile);
  store(tile, out, tags_out, base + start, count);
}

// One side of pairs: its sorted levels, and how they meet those of the other side. `gradient` may be null.
struct Side {
  const KEY* numbers;
  const long long *first, *other;
  const Tag* tags;
  KEY* gradient;
  long long levels;
  int points;
};

// What numbers `start` to `stop` of a level of one side add to the energy: for every number z its place in the other
// side's levels gives D and the number before z. Numbers of the other side at the same place come first if `upper`.
__device__ __forceinline__ double part_energy(
    const Side& a, const Side& b, const double* width, long long row, int start, int stop, bool upper) {
  const int n = a.points, m = b.points;
  const long long level = row % a.levels, pair = row / a.levels;
  const KEY* own = a.numbers + row * n;
  double sum = 0;
  for (int i = start + threadIdx.x; i < stop; i += THREADS) {
    const KEY z = own[i];
    double slope = 0;
    for (long long s = a.first[level]; s < a.first[level + 1]; s++) {
      const KEY* others = b.numbers + (pair * b.levels + a.other[s]) * m;
      int low = 0, high = m;
      while (low < high) {
        const int middle = low + (high - low) / 2;
        const KEY y = others[middle];
        if (upper ? y <= z : y < z) low = middle + 1; else high = middle;
      }
      KEY before = i > 0 ? own[i - 1] : z;
      if (low > 0) {
        const KEY y = others[low - 1];
        if (i == 0 || y > before) before = y;
      }
      const double d = (double)((long long)i * m - (long long)low * n) / ((double)n * (double)m);
      sum += 2 * width[s] * ((double)z - (double)before) * d * d;
      slope -= 2 * width[s] * (2 * d + 1.0 / n) / n;
    }
    if (a.gradient) a.gradient[a.tags[row * n + i]] = (KEY)slope;
  }
  return sum;
}

// Parts of the energy of pairs, those of x and then those of y; a block takes a chunk of one level of one side.
extern "C" __global__ void __launch_bounds__(THREADS) level_energy(
    const KEY* x, const KEY* y, const long long* first_x, const long long* first_y, const long long* other_x,
    const long long* other_y, const double* width, const Tag* tags_x, const Tag* tags_y, KEY* gradient_x,
    KEY* gradient_y, double* energy, long long levels_x, long long levels_y, int n, int m, int chunk) {
  __shared__ double sums[THREADS];
  const Side of_x{x, first_x, other_x, tags_x, gradient_x, levels_x, n};
  const Side of_y{y, first_y, other_y, tags_y, gradient_y, levels_y, m};
  const long long chunks_x = (n + chunk - 1) / chunk, chunks_y = (m + chunk - 1) / chunk;
  const long long parts_x = levels_x * chunks_x, parts = parts_x + levels_y * chunks_y;
  const long long pair = blockIdx.x / parts, part = blockIdx.x % parts;
  const bool upper = part >= parts_x;
  const long long place = upper ? part - parts_x : part, chunks = upper ? chunks_y : chunks_x;
  const long long row = pair * (upper ? levels_y : levels_x) + place / chunks;
  const int start = (int)(place % chunks) * chunk, points = upper ? m : n;
  const int stop = points - start < chunk ? points : start + chunk;
  sums[threadIdx.x] = upper ? part_energy(of_y, of_x, width, row, start, stop, true)
                            : part_energy(of_x, of_y, width, row, start, stop, false);
  __syncthreads();
  for (unsigned half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) energy[blockIdx.x] = sums[0];
}

// Distances from some points to all points; a block takes a stretch of one row.
extern "C" __global__ void __launch_bounds__(THREADS) distances(
    const KEY* rows, const KEY* points, KEY* out, long long n, int dimension) {
  const long long j = (long long)blockIdx.y * THREADS + threadIdx.x;
  if (j >= n) return;
  const KEY *x = rows + (long long)blockIdx.x * dimension, *y = points + j * dimension;
  KEY sum = 0;
  for (int c = 0; c < dimension; c++) sum += (x[c] - y[c]) * (x[c] - y[c]);
  out[blockIdx.x * n + j] = sqrt(sum);
}
