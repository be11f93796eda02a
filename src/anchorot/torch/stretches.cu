// The sweep over the events of weighted spaces (p = 1), for `_stretches.py`. Compiled at run time with KEY float or
// double and THREADS, a power of two.
//
// An event lifts a row of mass s from the height v to w, at the time that its cost says. D(h) is the mass of the rows up
// to h, and f the integral of D^2. Events in the order of time are cut into stretches, which do not depend on each other: with D0 at
// the beginning of a stretch, D before event e is D0 less the masses of earlier events on what they have passed, so
//
//     area_e = D over [v, w] = D0 over [v, w] - sum_{e' before e} s' |[v, w] and [v', w']|,
//     f rises by s^2 (w - v) - 2 s area_e.
//
// The first part is looked up among the heights at the beginning, sorted; in the second only few events overlap, and in
// the order of v they stand beside each other. Sums over them are made of integers: the order of threads changes no bit.
//
// Heights are integers in units of 2^-62. A spaces' entry of a batch has `events` events, of n rows with n and m rows with
// m, one row after the other; stretch q holds those of ranks first[q] to first[q + 1] - 1, counted over all entries. The
// tables of stretches have `rows` or `size` columns, and are those of `from` and the stretches after it.

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

// A thread's share of `count` things that stand in a line.
struct Share {
  int begin, end;
  __device__ explicit Share(int count) {
    const int each = (count + THREADS - 1) / THREADS;
    begin = (int)threadIdx.x * each < count ? threadIdx.x * each : count;
    end = begin + each < count ? begin + each : count;
  }
};

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
  const Share share(rows);
  double sum = 0, area = 0, squares = 0, total;
  for (int i = share.begin; i < share.end; i++) sum += masses[tags[i] - (Tag)table];
  sum = sum_before(sum, total);
  for (int i = share.begin; i < share.end; i++) {
    const bool last = i == rows - 1;  // masses sum to 0
    const double gap = last ? 0 : (double)(z[i + 1] - z[i]) * UNIT;
    sum += masses[tags[i] - (Tag)table];
    d[i] = last ? 0 : sum;
    area += gap * d[i];
    squares += gap * d[i] * d[i];
  }
  area = sum_before(area, total);
  for (int i = share.begin; i < share.end; i++) {
    primitive[i] = area;
    if (i < rows - 1) area += (double)(z[i + 1] - z[i]) * UNIT * d[i];
  }
  sum_before(squares, total);
  if (threadIdx.x == 0) energy[blockIdx.x] = total;
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
  const long long rank = bounds[0] + (tags[i] - (Tag)(q * size)), entry = rank / events;
  const unsigned event = (unsigned)order[rank];
  upper[i] = height[entry * events + event];
  masses[i] = mass[entry * shape.rows() + shape.row(event)];
  if (left) left[i] = Span(when, bounds, events).left(when[rank]);
}

// The integral of D from v to w, at the beginning of a stretch.
__device__ __forceinline__ double area_between(
    const Height* z, const double* d, const double* primitive, int rows, Height v, Height w) {
  const int low = up_to(z, 0, rows, v) - 1, high = up_to(z, low + 1, rows, w) - 1;
  if (low == high) return low < 0 ? 0 : (double)(w - v) * UNIT * d[low];
  const double at_v = low < 0 ? 0 : primitive[low] + (double)(v - z[low]) * UNIT * d[low];
  return primitive[high] + (double)(w - z[high]) * UNIT * d[high] - at_v;
}

// The integral of D0 over what an event passes, and how much of it earlier events of the stretch have changed, in integers of the
// unit 1 / scale; by place in time.
extern "C" __global__ void __launch_bounds__(THREADS) pass_heights(
    const Height* lower, const Height* upper, const double* masses, const Tag* tags, const long long* first,
    const Height* z, const double* d, const double* primitive, const double* scale, double* area, long long* passed,
    long long total, long long from, int size, int rows) {
  const long long i = item(), q = i / size;
  if (i >= total) return;
  const long long end = q * size + first[from + q + 1] - first[from + q];
  if (i >= end) return;
  const Height v = lower[i], w = upper[i];
  const double s = masses[i], unit = *scale * UNIT;
  const Tag place = tags[i];
  long long own = 0;
  for (long long other = i + 1; other < end && lower[other] < w; other++) {
    const Height top = upper[other] < w ? upper[other] : w;
    const double width = (double)(top - lower[other]) * unit;
    if (tags[other] < place) own += __double2ll_rn(masses[other] * width);
    else add(passed + tags[other], __double2ll_rn(s * width));
  }
  add(passed + place, own);
  z += q * rows; d += q * rows; primitive += q * rows;
  area[place] = area_between(z, d, primitive, rows, v, w);
}

// The integral of f over the stretch and the gap before it, and the derivative in every cost. A block has a stretch; `area` becomes
// by how much f rises. Gradients may be null.
extern "C" __global__ void __launch_bounds__(THREADS) sweep_stretches(
    const KEY* when, const long long* order, const Height* height, const double* mass, const long long* first,
    const double* energy, double* area, const long long* passed, const double* scale, const Tag* tags_x,
    const Tag* tags_y, KEY* gradient_x, KEY* gradient_y, double* integral, long long from, int size, int n, int m) {
  const Shape shape{n, m};
  const long long events = shape.events(), begin = first[from + blockIdx.x], entry = begin / events;
  const long long table = (long long)blockIdx.x * size, start = entry * events;
  const Share share((int)(first[from + blockIdx.x + 1] - begin));
  const double unit = 1 / *scale;
  double sum = 0, total;
  for (int j = share.begin; j < share.end; j++) {
    const unsigned event = (unsigned)order[begin + j];
    const double s = mass[entry * shape.rows() + shape.row(event)];
    const Height width = height[start + event] - height_before(height, start + event, shape.place(event));
    const double rise = s * (s * (double)width * UNIT - 2 * (area[table + j] - (double)passed[table + j] * unit));
    area[table + j] = rise;
    sum += rise;
    const bool of_x = event < shape.split();
    KEY* gradient = of_x ? gradient_x : gradient_y;
    const long long cost = of_x ? entry * shape.split() + event : entry * m * m + event - shape.split();
    if (gradient) gradient[(of_x ? tags_x : tags_y)[cost]] = (KEY)(-2 * rise);
  }
  double f = energy[blockIdx.x] + sum_before(sum, total), part = 0;
  for (int j = share.begin; j < share.end; j++) {
    const long long rank = begin + j;
    if (rank > start) part += ((double)when[rank] - (double)when[rank - 1]) * (f > 0 ? f : 0);
    f += area[table + j];
  }
  sum_before(part, total);
  if (threadIdx.x == 0) integral[from + blockIdx.x] = total;
}

// AE of every entry: twice the sum over its stretches.
extern "C" __global__ void __launch_bounds__(THREADS) sum_stretches(
    const double* integral, const int* of_rank, double* value, long long events) {
  const int begin = of_rank[blockIdx.x * events] - 1, end = of_rank[(blockIdx.x + 1) * events - 1];
  double sum = 0, total;
  for (int q = begin + threadIdx.x; q < end; q += THREADS) sum += integral[q];
  sum_before(sum, total);
  if (threadIdx.x == 0) value[blockIdx.x] = 2 * total;
}
