// The energy of weighted spaces and its derivative in costs, stretch by stretch; compiled after stretches.cu.

// The integral of D from v to w, at the beginning of a stretch.
__device__ __forceinline__ double area_between(
    const Height* z, const double* d, const double* primitive, int rows, Height v, Height w) {
  const int low = up_to(z, 0, rows, v) - 1, high = up_to(z, low + 1, rows, w) - 1;
  if (low == high) return low < 0 ? 0 : (double)(w - v) * UNIT * d[low];
  const double at_v = low < 0 ? 0 : primitive[low] + (double)(v - z[low]) * UNIT * d[low];
  return primitive[high] + (double)(w - z[high]) * UNIT * d[high] - at_v;
}

// The integral of D0 over what an event passes, and how much of it earlier events of the stretch have changed, in
// integers of the unit 1 / scale, which a pair has; by place in time.
extern "C" __global__ void __launch_bounds__(THREADS) pass_heights(
    const Height* lower, const Height* upper, const double* masses, const Tag* tags, const long long* first,
    const Height* z, const double* d, const double* primitive, const double* scale, double* area, long long* passed,
    long long total, long long from, int size, int n, int m) {
  const Shape shape{n, m};
  const long long i = item(), q = i / size;
  if (i >= total) return;
  const long long begin = first[from + q], end = q * size + first[from + q + 1] - begin;
  if (i >= end) return;
  const Height v = lower[i], w = upper[i];
  const double s = masses[i], unit = scale[begin / shape.events()] * UNIT;
  const Tag place = tags[i];
  long long own = 0;
  for (long long other = i + 1; other < end && lower[other] < w; other++) {
    const Height top = upper[other] < w ? upper[other] : w;
    const double width = (double)(top - lower[other]) * unit;
    if (tags[other] < place) own += __double2ll_rn(masses[other] * width);
    else add(passed + tags[other], __double2ll_rn(s * width));
  }
  add(passed + place, own);
  const int rows = shape.rows();
  z += q * rows; d += q * rows; primitive += q * rows;
  area[place] = area_between(z, d, primitive, rows, v, w);
}

// The integral of f over a stretch and the gap before it, and the derivative in every cost. A block has a stretch;
// gradients may be null.
extern "C" __global__ void __launch_bounds__(THREADS) sweep_stretches(
    const KEY* when, const long long* order, const Height* height, const double* mass, const long long* first,
    const double* energy, const double* area, const long long* passed, const double* scale, const Tag* tags_x,
    const Tag* tags_y, KEY* gradient_x, KEY* gradient_y, double* integral, long long from, int size, int n, int m) {
  const Shape shape{n, m};
  const long long events = shape.events(), begin = first[from + blockIdx.x], pair = begin / events;
  const long long table = (long long)blockIdx.x * size, origin = pair * events;
  const int count = (int)(first[from + blockIdx.x + 1] - begin);
  const double unit = 1 / scale[pair];
  RunningSum<double> rises;
  double part = 0;
  for (int start = 0; start < count; start += THREADS) {
    const int j = start + threadIdx.x;
    double rise = 0;
    if (j < count) {
      const unsigned event = (unsigned)order[begin + j];
      const double s = mass[pair * shape.rows() + shape.row(event)];
      const Height width = height[origin + event] - height_before(height, origin + event, shape.place(event));
      rise = s * (s * (double)width * UNIT - 2 * (area[table + j] - (double)passed[table + j] * unit));
      const bool of_x = event < shape.split();
      KEY* gradient = of_x ? gradient_x : gradient_y;
      const long long cost = of_x ? pair * shape.split() + event : pair * m * m + event - shape.split();
      if (gradient) gradient[(of_x ? tags_x : tags_y)[cost]] = (KEY)(-2 * rise);
    }
    const double f = energy[blockIdx.x] + rises.before(rise);
    const long long rank = begin + j;
    if (j < count && rank > origin) part += ((double)when[rank] - (double)when[rank - 1]) * (f > 0 ? f : 0);
  }
  part = sum_of_all(part);
  if (threadIdx.x == 0) integral[from + blockIdx.x] = part;
}

// AE of every pair: twice the sum over its stretches.
extern "C" __global__ void __launch_bounds__(THREADS) sum_stretches(
    const double* integral, const int* of_rank, double* value, long long events) {
  const int begin = of_rank[blockIdx.x * events] - 1, end = of_rank[(blockIdx.x + 1) * events - 1];
  double sum = 0;
  for (int q = begin + threadIdx.x; q < end; q += THREADS) sum += integral[q];
  sum = sum_of_all(sum);
  if (threadIdx.x == 0) value[blockIdx.x] = 2 * sum;
}
