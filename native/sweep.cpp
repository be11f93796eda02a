// Anchor Energy (p = 1) of two collections of weighted 1-D measures: the adaptive sweep.
//
// At position x every row r has a CDF height H_r(x) and a signed mass s_r (positive for the first collection,
// negative for the second). With D(h) = sum of s_r over the rows with H_r(x) <= h and f(x) = integral of D(h)^2 dh,
//
//     AE_1 = 2 integral f(x) dx .
//
// The heights are kept as one sorted array, with D beside them. An event lifts one row from h to h + w past the few
// entries in between, D falls by s_r there, and
//
//     f changes by  s_r^2 w - 2 s_r integral_h^{h+w} D .
//
// How many entries an event passes depends on how far the CDFs lie apart, not on how many there are; where they
// lie so close that it passes hundreds, the stretch is swept again with a Fenwick tree, O(log) an event.
//
// Sliced Anchor Wasserstein, integral of |D| in place of D^2, goes the same way: f changes by the integral of
// |D - s_r| - |D| over [h, h+w]. There is no tree for it: where CDFs nearly coincide, an event may pass all rows.
//
// Rounding. Heights are integers, so equal heights are equal. f is computed afresh, as a sum of squares, at the
// start of every stretch and before every gap that is long compared with the whole way so far (there are at most
// about rows * log(range) of those): what is left of cancelled updates never meets a large gap.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "moving_heights.hpp"
#include "parallel.hpp"
#include "profile.hpp"
#include "stretches.hpp"

namespace anchorot {
namespace {

// An integral over all x.
struct Total {
  double value = 0;
  void add(double from, double to, double f) { value += (to - from) * f; }
};

// integral of f over a stretch and the gap after it; false if it may stop and the heights were overwhelmed.
template <class Heights, class Sum>
bool sweep(Heights& heights, MergedEvents events, double start, double share, bool may_stop, Sum& sum) {
  double change[MergedEvents::kBlock];
  auto block = events.next();
  double f = heights.energy(), here = block.front().position;
  auto is_long = [&](double from, double to) { return to - from > share * (to - start); };
  auto advance = [&](double next) {
    sum.add(here, next, std::max(f, 0.0) * kHeightUnit);
    here = next;
  };
  for (std::size_t done = 0; !block.empty(); block = events.next()) {
    for (std::size_t e = 0, end = 0; e < block.size(); e = end) {  // from one long gap to the next
      if (is_long(here, block[e].position)) f = heights.energy();
      for (end = e + 1; end < block.size() && !is_long(block[end - 1].position, block[end].position);) ++end;
      heights.lift(block.data() + e, end - e, change + e);
      for (std::size_t k = e; k < end; ++k) {
        advance(block[k].position);
        f += change[k];
      }
    }
    check_interrupt();
    done += block.size();
    if (may_stop && done % MergedEvents::kBlock == 0 && heights.overwhelmed(done)) return false;
  }
  const double next = events.position_after(here);
  if (is_long(here, next)) f = heights.energy();
  advance(next);
  return true;
}

// The integral of f over all stretches, one part each, every one of which begins as `empty`; none if the range of
// positions is beyond the range of floats.
template <class Norm, class Sum>
std::vector<Sum> sweep_stretches(const Events& x, const Events& y, const Sum& empty, int threads) {
  const double start = std::min(x.position[0], y.position[0]);
  if (!std::isfinite(std::max(x.position[x.count - 1], y.position[y.count - 1]) - start)) return {};
  const Rows rows(x, y);
  const std::vector<Stretch> all = stretches(x, y, rows, threads);
  const double share = 1.0 / static_cast<double>(rows.count());
  std::vector<Sum> part(all.size(), empty);
  parallel_for(all.size(), threads, [&](std::size_t k, std::size_t) {
    constexpr bool has_tree = std::is_same_v<Norm, SquaredHeights>;  // sums of |D| change by no prefix sums
    SortedHeights<Norm> sorted(all[k].heights, rows.signed_mass);
    if (sweep(sorted, MergedEvents(all[k], x, y, rows), start, share, has_tree, part[k])) return;
    part[k] = empty;
    TreeHeights tree(all[k], x, y, rows);
    sweep(tree, MergedEvents(all[k], x, y, rows), start, share, false, part[k]);
  });
  return part;
}

}  // namespace

double sweep_energy(const Events& x, const Events& y, int threads) {
  const std::vector<Total> parts = sweep_stretches<SquaredHeights>(x, y, Total(), threads);
  if (parts.empty()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const Total& part : parts) sum += part.value;  // in the order of stretches, whatever the threads
  return 2 * sum;
}

double sweep_transport(const Events& x, const Events& y, int threads) {
  const std::vector<Total> parts = sweep_stretches<AbsoluteHeights>(x, y, Total(), threads);
  if (parts.empty()) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const Total& part : parts) sum += part.value;
  return sum;
}

void sweep_profile(const Events& x, const Events& y, const MaxCosts& max_costs, int power, double* out, int threads) {
  const std::vector<Profile> parts = power == 1
                                         ? sweep_stretches<AbsoluteHeights>(x, y, Profile(max_costs), threads)
                                         : sweep_stretches<SquaredHeights>(x, y, Profile(max_costs), threads);
  if (parts.empty()) std::fill(out, out + max_costs.count, std::numeric_limits<double>::infinity());
  else sum_up(parts, max_costs, power, out);
}

}  // namespace anchorot
