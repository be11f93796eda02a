// The sweep over the events of weighted spaces (p = 1), for `_stretches.py`: what it is, and the tables of stretches.
// Compiled at run time, with stretch_sweep.cu and stretch_weights.cu after it, with KEY float or double and THREADS, a
// power of two.
//
// An event lifts a row of mass s from the height v to w, at the time that its cost says. D(h) is the mass of the rows
// up to h, and f the integral of D^2. Events in the order of time are cut into stretches, which do not depend on each
// other: with D0 at the beginning of a stretch, D before event e is D0 less the masses of earlier events on what they
// have passed, so
//
//     area_e = D over [v, w] = D0 over [v, w] - sum_{e' before e} s' |[v, w] and [v', w']|,
//     f rises by s^2 (w - v) - 2 s area_e.
//
// The first part is looked up among the heights at the beginning, sorted; in the second only few events overlap, and in
// the order of v they stand beside each other. Sums over them are made of integers: the order of threads changes no
// bit.
//
// Heights are integers in units of 2^-62. A pair of a batch has `events` events, those of n rows of n costs and then of
// m rows of m, row by row; stretch q holds those of ranks first[q] to first[q + 1] - 1, counted over all pairs. Tables
// of stretches have `rows` or `size` columns, and are those of the stretch `from` and of some after it.

typedef long long Height;
typedef unsigned int Tag;
#define UNIT 2.168404344971009e-19  // of a height: 2^-62
#define FINE 1152921504606846976.0  // sums of what is at most 8 are integers in units of 2^-60
#define LONG_GAP 16.0

struct Shape {
  int n, m;
  __device__ int rows() const { return n + m; }
  __device__ unsigned split() const { return (unsigned)n * n; }
  __device__ long long events() const { return (long long)n * n + (long long)m * m; }
  __device__ int row(unsigned event) const { return event < split() ? event / n : n + (event - split()) / m; }
  __device__ int place(unsigned event) const { return event < split() ? event % n : (event - split()) % m; }
  __device__ int length(int row) const { return row < n ? n : m; }
};

__device__ __forceinline__ long long item() { return (long long)blockIdx.x * THREADS + threadIdx.x; }
__device__ __forceinline__ void add(long long* sum, long long value) {
  atomicAdd((unsigned long long*)sum, (unsigned long long)value);
}
__device__ __forceinline__ Height height_before(const Height* height, long long event, int place) {
  return place ? height[event - 1] : 0;
}

// How many of the sorted heights are at most h, or below it; `from` are known to be.
__device__ __forceinline__ int up_to(const Height* z, int from, int count, Height h) {
  int step = 1;
  while (from + step <= count && z[from + step - 1] <= h) { from += step; step *= 2; }
  int high = from + step - 1 < count ? from + step - 1 : count;
  while (from < high) {
    const int middle = (from + high) / 2;
    if (z[middle] <= h) from = middle + 1; else high = middle;
  }
  return from;
}
__device__ __forceinline__ int below(const Height* z, int from, int count, Height h) {
  return h > 0 ? up_to(z, from, count, h - 1) : 0;
}

// The sum of what the threads before this one have, in a fixed order, and that of all.
template <typename T> __device__ __forceinline__ T sum_before(T own, T& total) {
  __shared__ T sums[THREADS];
  __syncthreads();
  sums[threadIdx.x] = own;
  for (unsigned step = 1; step < THREADS; step *= 2) {
    __syncthreads();
    const T other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
  }
  __syncthreads();
  total = sums[THREADS - 1];
  return threadIdx.x ? sums[threadIdx.x - 1] : 0;
}

// Sums along a line of things that a block takes THREADS at a time, in a fixed order.
template <typename T> struct RunningSum {
  T sum = 0;  // up to the last of those that the block has taken
  __device__ T before(T own) {
    T total;
    const T found = sum + sum_before(own, total);
    sum += total;
    return found;
  }
};
template <typename T> __device__ __forceinline__ T sum_of_all(T own) {
  T total;
  sum_before(own, total);
  return total;
}

// The height of every row after each of its costs, from its weights (integers). From the last point that has a weight
// on it is 1 and not the rounded sum of all. Rounded to 53 bits: levels that are equal but for rounding are to be
// equal. A block has a row.
extern "C" __global__ void __launch_bounds__(THREADS) row_heights(
    const Height* weights, const Height* totals, const Tag* tags, Height* height, long long stride, int n) {
  const long long row = blockIdx.x, pair = row / n, in = row * n, out = pair * stride + row % n * n;
  const Height one = 1ll << 62, all = totals[pair];
  RunningSum<Height> sum;
  for (int start = 0; start < n; start += THREADS) {
    const int k = start + threadIdx.x;
    const Height own = k < n ? weights[pair * n + tags[in + k] % n] : 0, h = sum.before(own) + own;
    if (k < n) height[out + k] = h == all || h > one ? one : (Height)(double)h;
  }
}

// Where stretches begin: every `size` events, and after gaps so long that what rounding leaves of f would count.
extern "C" __global__ void __launch_bounds__(THREADS) mark_starts(
    const KEY* when, int* starts, long long total, long long events, int size) {
  const long long i = item();
  if (i >= total) return;
  const long long rank = i % events;
  bool start = rank % size == 0;
  if (!start) {
    const double before = when[i - 1];
    start = (double)when[i] - before > LONG_GAP * (before - (double)when[i - rank]);
  }
  starts[i] = start;
}

// The stretch of every event, from those of the ranks (counted from 1).
extern "C" __global__ void __launch_bounds__(THREADS) place_events(
    const long long* order, const int* of_rank, int* of_event, long long total, long long events) {
  const long long i = item();
  if (i < total) of_event[i - i % events + order[i]] = of_rank[i] - 1;
}

// The stretches that begin while a row waits for an event, or, after its last, for nothing; within the table's.
struct Waits {
  long long begin, end;
  __device__ Waits(const int* of_rank, const int* of_event, long long i, long long start, long long events, int place,
                   bool after, long long from, long long until) {
    begin = after ? of_event[i] + 1 : place ? of_event[i - 1] + 1 : of_rank[start] - 1;
    end = after ? of_rank[start + events - 1] : of_event[i] + 1;
    if (begin < from) begin = from;
    if (end > until) end = until;
  }
};

// The heights of all rows at the beginning of every stretch.
extern "C" __global__ void __launch_bounds__(THREADS) start_heights(
    const int* of_rank, const int* of_event, const Height* height, Height* start, long long total, long long from,
    long long until, int n, int m) {
  const Shape shape{n, m};
  const long long i = item(), events = shape.events();
  if (i >= total) return;
  const unsigned event = (unsigned)(i % events);
  const int row = shape.row(event), place = shape.place(event), rows = shape.rows();
  for (int after = 0; after <= (place == shape.length(row) - 1); after++) {
    const Waits waits(of_rank, of_event, i, i - event, events, place, after, from, until);
    const Height h = after ? height[i] : height_before(height, i, place);
    for (long long q = waits.begin; q < waits.end; q++) start[(q - from) * rows + row] = h;
  }
}

// D from every sorted height to the next, its integral up to every height, and f. A block has a stretch.
extern "C" __global__ void __launch_bounds__(THREADS) weigh_heights(
    const Height* z, const Tag* tags, const double* mass, const long long* first, double* d, double* primitive,
    double* energy, long long from, int n, int m) {
  const Shape shape{n, m};
  const int rows = shape.rows();
  const long long table = (long long)blockIdx.x * rows;
  const double* masses = mass + first[from + blockIdx.x] / shape.events() * rows;
  z += table; tags += table; d += table; primitive += table;
  RunningSum<double> mass_up_to, area;
  double squares = 0;
  for (int start = 0; start < rows; start += THREADS) {
    const int i = start + threadIdx.x;
    const double own = i < rows ? masses[tags[i] - (Tag)table] : 0;
    const double up_to = mass_up_to.before(own) + own, here = i < rows - 1 ? up_to : 0;  // masses sum to 0
    const double gap = i < rows - 1 ? (double)(z[i + 1] - z[i]) * UNIT : 0;
    const double before = area.before(gap * here);
    squares += gap * here * here;
    if (i < rows) { d[i] = here; primitive[i] = before; }
  }
  squares = sum_of_all(squares);
  if (threadIdx.x == 0) energy[blockIdx.x] = squares;
}

// The height from which every event of a stretch rises, to be sorted; what is beyond the last event comes last.
extern "C" __global__ void __launch_bounds__(THREADS) lower_heights(
    const long long* order, const Height* height, const long long* first, Height* lower, long long total,
    long long from, int size, int n, int m) {
  const Shape shape{n, m};
  const long long i = item();
  if (i >= total) return;
  const long long* bounds = first + from + i / size;
  const long long rank = bounds[0] + i % size;
  if (rank >= bounds[1]) { lower[i] = 0x7fffffffffffffffll; return; }
  const unsigned event = (unsigned)order[rank];
  const long long start = rank - rank % shape.events();
  lower[i] = height_before(height, start + event, shape.place(event));
}

// How much of a stretch's time is left after an event, as a share of it; the gap before its first event is its own.
struct Span {
  double stop, length;
  __device__ Span(const KEY* when, const long long* bounds, long long events) {
    const long long before = bounds[0] % events ? bounds[0] - 1 : bounds[0];
    stop = when[bounds[1] - 1];
    length = stop - (double)when[before];
  }
  __device__ double left(KEY time) const { return length != 0 ? (stop - (double)time) / length : 0; }
};

// What else is to be known of events, in the order of their lower heights. `left` may be null.
extern "C" __global__ void __launch_bounds__(THREADS) arrange_events(
    const KEY* when, const long long* order, const Height* height, const double* mass, const long long* first,
    const Tag* tags, Height* upper, double* masses, double* left, long long total, long long from, int size, int n,
    int m) {
  const Shape shape{n, m};
  const long long i = item(), q = i / size;
  if (i >= total) return;
  const long long *bounds = first + from + q, events = shape.events();
  if (i % size >= bounds[1] - bounds[0]) return;
  const long long rank = bounds[0] + (tags[i] - (Tag)(q * size)), pair = rank / events;
  const unsigned event = (unsigned)order[rank];
  upper[i] = height[pair * events + event];
  masses[i] = mass[pair * shape.rows() + shape.row(event)];
  if (left) left[i] = Span(when, bounds, events).left(when[rank]);
}
