// Which points stand at which level of the anchors' views: one factor of the Anchor Energy Plan.
#include <algorithm>
#include <vector>

#include "items.hpp"
#include "kernels.hpp"

namespace anchorot {

void level_shares(const double* cost, std::size_t n, bool split_ties, double* out) {
  std::fill(out, out + n * n, 0.0);
  const double share = 1.0 / static_cast<double>(n);
  // A block of equal costs spreads each of its points evenly over its levels: added where it begins, subtracted where
  // it ends, cumulated at last.
  std::vector<double> steps;
  std::vector<Item> items(n), scratch(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) items[k] = {cost[i * n + k], static_cast<std::int64_t>(k)};
    sort_items(items.data(), n, scratch.data());
    for (std::size_t first = 0, end; first < n; first = end) {
      end = first + 1;
      if (split_ties) {
        while (end < n && items[end].key == items[first].key) ++end;
      }
      if (end == first + 1) {
        out[first * n + static_cast<std::size_t>(items[first].index)] += share;
        continue;
      }
      if (steps.empty()) steps.assign((n + 1) * n, 0.0);
      const double part = share / static_cast<double>(end - first);
      for (std::size_t place = first; place < end; ++place) {
        const auto k = static_cast<std::size_t>(items[place].index);
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

}  // namespace anchorot
