// Derivatives in weights, for `_stretches.py`; compiled after stretch_sweep.cu.
//
// With V the potential of the masses, the derivative of AE in the height that a row has for a while is -2 s times the
// integral of V' over that while, and in the mass of a row -2 times that of V over all time. For p = 1, V' = 2 D, in
// the middle of a jump D before plus D after, and V = 2 (integral of D) up to a constant, which means nothing to
// weights whose sum is fixed: half of V is computed.
//
// A row that is at rest at z for a whole stretch sees D0 less the masses of events that pass z, for the time that is
// left after each: a difference array over the sorted heights. What moves is corrected from its time on, at w against
// v; there events e' count for the time that is left after both.

// How many sides of z the rise from v to w passes.
__device__ __forceinline__ int sides_passed(Height z, Height v, Height w) {
  return (v <= z && z < w) + (v < z && z <= w);
}
// D before plus D after a height, with `lower` sorted heights below it and `upper` up to it.
__device__ __forceinline__ double slope_at(const double* d, int lower, int upper) {
  return (lower ? d[lower - 1] : 0) + (upper ? d[upper - 1] : 0);
}
__device__ __forceinline__ long long fine(double value) { return __double2ll_rn(value * FINE); }

// turns: the integrals of V' at w and at v and half of V between them, from an event to the end of its stretch, by
// place in time. marks: the mass that passes the heights from an event's own on, those above it, and the former's
// moment. Each in shares of the stretch's length.
extern "C" __global__ void __launch_bounds__(THREADS) turn_events(
    const Height* lower, const Height* upper, const double* masses, const double* left, const Tag* tags,
    const long long* first, const Height* z, const double* d, const double* primitive, long long* turns,
    long long* marks, long long total, long long table, long long from, int size, int rows) {
  const long long i = item(), q = i / size;
  if (i >= total) return;
  const long long end = q * size + first[from + q + 1] - first[from + q];
  if (i >= end) return;
  z += q * rows; d += q * rows; primitive += q * rows; marks += q * rows;
  const Height v = lower[i], w = upper[i];
  const double s = masses[i], u = left[i], width = (double)(w - v) * UNIT;
  const int v0 = below(z, 0, rows, v), v1 = up_to(z, v0, rows, v);
  const int w0 = v < w ? below(z, v1, rows, w) : v0, w1 = up_to(z, w0, rows, w);
  const long long once = v < w ? fine(s * u) : 0;
  long long at_w = fine(u * slope_at(d, w0, w1)) - once, at_v = fine(u * slope_at(d, v0, v1)) - once;
  long long between = fine(u * area_between(z, d, primitive, rows, v, w)) - fine(s * u * width);
  for (long long other = i + 1; other < end && lower[other] <= w; other++) {
    const Height v2 = lower[other], w2 = upper[other], top = w2 < w ? w2 : w;
    const double both = left[other] < u ? left[other] : u, common = (double)(top - v2) * UNIT;
    const long long mass = fine(s * both), mass2 = fine(masses[other] * both);
    at_w -= mass2 * sides_passed(w, v2, w2);
    at_v -= mass2 * sides_passed(v, v2, w2);
    between -= fine(masses[other] * both * common);
    add(turns + tags[other], -mass * sides_passed(w2, v, w));
    add(turns + total + tags[other], -mass * sides_passed(v2, v, w));
    add(turns + 2 * total + tags[other], -fine(s * both * common));
  }
  add(turns + tags[i], at_w);
  add(turns + total + tags[i], at_v);
  add(turns + 2 * total + tags[i], between);
  if (v == w) return;
  const int places[2][2] = {{v0, v1}, {w0, w1}};
  for (int end_of = 0; end_of < 2; end_of++) {
    const double mass = end_of ? -s * u : s * u;
    const int lowest = places[end_of][0], above = places[end_of][1];
    if (lowest < rows) {
      add(marks + lowest, fine(mass));
      add(marks + 2 * table + lowest, fine(mass * (double)(end_of ? w : v) * UNIT));
    }
    if (above < rows) add(marks + table + above, fine(mass));
  }
}

// The integrals of V' and of half of V over a stretch, of every row as if it stayed at rest. A block has a stretch.
extern "C" __global__ void __launch_bounds__(THREADS) rest_rows(
    const KEY* when, const long long* first, const Height* z, const Tag* tags, const double* d, const double* primitive,
    const unsigned long long* marks, double* slope, double* potential, long long total, long long from, int n, int m) {
  const Shape shape{n, m};
  const int rows = shape.rows();
  const long long table = (long long)blockIdx.x * rows;
  z += table; d += table; marks += table;
  const double length = Span(when, first + from + blockIdx.x, shape.events()).length;
  RunningSum<unsigned long long> sums[3];  // may wrap around, and back
  for (int start = 0; start < rows; start += THREADS) {
    const int i = start + threadIdx.x;
    double passed[3];
    for (int k = 0; k < 3; k++) {
      const unsigned long long own = i < rows ? marks[k * total + i] : 0;
      passed[k] = (double)(long long)(sums[k].before(own) + own) / FINE;
    }
    if (i >= rows) continue;
    const int lowest = i && z[i - 1] == z[i] ? below(z, 0, i, z[i]) : i;
    const double still = slope_at(d, lowest, up_to(z, i, rows, z[i])) - passed[0] - passed[1];
    slope[tags[table + i]] = length * still;
    potential[tags[table + i]] = length * (primitive[table + i] - ((double)z[i] * UNIT * passed[0] - passed[2]));
  }
}

// Add what rows at rest have, to the while before each event, and after the last of a row to its end.
extern "C" __global__ void __launch_bounds__(THREADS) collect_rests(
    const int* of_rank, const int* of_event, const double* slope, const double* potential, double* slopes,
    double* potentials, double* last_slope, double* last_potential, long long total, long long from, long long until,
    int n, int m) {
  const Shape shape{n, m};
  const long long i = item(), events = shape.events();
  if (i >= total) return;
  const unsigned event = (unsigned)(i % events);
  const int row = shape.row(event), place = shape.place(event), rows = shape.rows();
  const long long end = i / events * rows + row;
  for (int after = 0; after <= (place == shape.length(row) - 1); after++) {
    const Waits waits(of_rank, of_event, i, i - event, events, place, after, from, until);
    double& own_slope = *(after ? last_slope + end : slopes + i);
    double& own_potential = *(after ? last_potential + end : potentials + i);
    for (long long q = waits.begin; q < waits.end; q++) {
      own_slope += slope[(q - from) * rows + row];
      own_potential += potential[(q - from) * rows + row];
    }
  }
}

// What an event's move turns, from the order of time to that of events: at w for the while after it, at v for the while
// before.
extern "C" __global__ void __launch_bounds__(THREADS) collect_turns(
    const KEY* when, const long long* order, const long long* first, const long long* turns, double* at_w, double* at_v,
    double* between, long long total, long long from, int size, long long events) {
  const long long i = item();
  if (i >= total) return;
  const long long* bounds = first + from + i / size;
  const long long rank = bounds[0] + i % size;
  if (rank >= bounds[1]) return;
  const double length = Span(when, bounds, events).length / FINE;
  const long long event = rank - rank % events + order[rank];
  at_w[event] = length * (double)turns[i];
  at_v[event] = length * (double)turns[total + i];
  between[event] = length * (double)turns[2 * total + i];
}

// The derivative in all heights after each event of a row, which its weight raises, by place in the costs, and half of
// the potential of the row. A block has a row.
extern "C" __global__ void __launch_bounds__(THREADS) raise_rows(
    const double* mass, const double* slopes, const double* potentials, const double* last_slope,
    const double* last_potential, const double* at_w, const double* at_v, const double* between, const Tag* tags_x,
    const Tag* tags_y, double* raised_x, double* raised_y, double* potential, int n, int m) {
  const Shape shape{n, m};
  const int rows = shape.rows(), row = blockIdx.x % rows, length = shape.length(row);
  const long long pair = blockIdx.x / rows, own_events = (long long)length * length;
  const bool of_x = row < n;
  const long long in_side = (long long)(of_x ? row : row - n) * length;
  const long long begin = pair * shape.events() + (of_x ? 0 : shape.split()) + in_side;
  const Tag* tags = (of_x ? tags_x : tags_y) + pair * own_events + in_side;
  double* raised = of_x ? raised_x : raised_y;
  RunningSum<double> above;
  double own = 0;
  for (int start = 0; start < length; start += THREADS) {
    const int k = length - 1 - start - (int)threadIdx.x;  // from the last cost down
    double after = 0;
    if (k >= 0) {
      const bool last = k == length - 1;
      after = at_w[begin + k] + (last ? last_slope[blockIdx.x] : slopes[begin + k + 1] - at_v[begin + k + 1]);
      own += potentials[begin + k] + between[begin + k];
    }
    const double all = above.before(after) + after;
    if (k >= 0) raised[tags[k]] = -2 * mass[blockIdx.x] * all;
  }
  own = sum_of_all(own);
  if (threadIdx.x == 0) potential[blockIdx.x] = own + last_potential[blockIdx.x];
}
