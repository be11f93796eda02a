// The Anchor Energy Plan: which points stand at which level of the anchors' views, and the product of two such shares.
#include <algorithm>
#include <numeric>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "keyed.hpp"
#include "parallel.hpp"

namespace anchorot {

void level_shares(const double* cost, std::size_t n, bool split_ties, double* out) {
  std::fill(out, out + n * n, 0.0);
  const double share = 1.0 / static_cast<double>(n);
  // A block of equal costs spreads each of its points evenly over its levels: added where it begins, subtracted where
  // it ends, cumulated at last.
  std::vector<double> steps;
  std::vector<Keyed> ranked(n), scratch(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) ranked[k] = {cost[i * n + k], static_cast<std::int64_t>(k)};
    check_interrupt();
    sort_keyed(ranked.data(), n, scratch.data());
    for (std::size_t first = 0, end; first < n; first = end) {
      end = first + 1;
      if (split_ties) {
        while (end < n && ranked[end].key == ranked[first].key) ++end;
      }
      if (end == first + 1) {
        out[first * n + static_cast<std::size_t>(ranked[first].index)] += share;
        continue;
      }
      if (steps.empty()) steps.assign((n + 1) * n, 0.0);
      const double part = share / static_cast<double>(end - first);
      for (std::size_t place = first; place < end; ++place) {
        const auto k = static_cast<std::size_t>(ranked[place].index);
        steps[first * n + k] += part;
        steps[end * n + k] -= part;
      }
    }
  }
  if (steps.empty()) return;
  std::vector<double> level(n, 0.0);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t k = 0; k < n; ++k) {
      level[k] += steps[r * n + k];
      out[r * n + k] += std::max(level[k], 0.0);
    }
  }
}

constexpr std::size_t kPlanColumns = 8;  // of a plan that are summed side by side

// With A_k(t) the sum of the steps of k up to t, which is 0 in the end, and G_l the primitive of B_l,
//     integral A_k B_l dt = - sum over the steps of A_k of step * G_l(level) ,
// and G_l is linear between the steps of B_l. All steps of x pass by once for every kPlanColumns columns of the plan.
void share_product(const ShareSteps& x, std::size_t n, const ShareSteps& y, std::size_t m, double* out, int threads) {
  const std::size_t panels = (m + kPlanColumns - 1) / kPlanColumns;
  // The steps of y by panel, in the order of levels.
  std::vector<std::size_t> start(panels + 1, 0);
  for (std::size_t e = 0; e < y.count; ++e) ++start[y.point[e] / kPlanColumns + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::size_t> next(start.begin(), start.end() - 1), order(y.count);
  for (std::size_t e = 0; e < y.count; ++e) order[next[y.point[e] / kPlanColumns]++] = e;
  parallel_for(panels, threads, [&](std::size_t panel, std::size_t) {
    double constant[kPlanColumns] = {}, slope[kPlanColumns] = {};  // G_l(t) = constant + slope * t
    std::vector<double> sums(n * kPlanColumns, 0.0);
    std::size_t f = start[panel];
    for (std::size_t e = 0; e < x.count; ++e) {
      const double t = x.level[e], step = x.step[e];
      for (; f < start[panel + 1] && y.level[order[f]] <= t; ++f) {
        const std::size_t lane = y.point[order[f]] % kPlanColumns;
        slope[lane] += y.step[order[f]];
        constant[lane] -= y.step[order[f]] * y.level[order[f]];
      }
      double* sum = sums.data() + x.point[e] * kPlanColumns;
      for (std::size_t lane = 0; lane < kPlanColumns; ++lane) sum[lane] -= step * (constant[lane] + slope[lane] * t);
    }
    const std::size_t first = panel * kPlanColumns, width = std::min(kPlanColumns, m - first);
    for (std::size_t k = 0; k < n; ++k) std::copy_n(sums.data() + k * kPlanColumns, width, out + k * m + first);
  });
}

}  // namespace anchorot
