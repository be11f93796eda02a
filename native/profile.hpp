// An integral over x, known up to several costs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels.hpp"

namespace anchorot {

// Collects gaps from left to right. Between two of them there is one sum, so that all take one pass.
class Profile {
 public:
  explicit Profile(const MaxCosts& max_costs) : max_costs_(max_costs), between_(max_costs.count, 0.0) {}

  // A new pass, from the left.
  void restart() { at_ = 0; }

  // The integrand is `height` from `from` to `to`.
  void add(double from, double to, double height) {
    while (at_ < max_costs_.count) {
      const double end = std::min(to, max_costs_.values[at_]);
      if (end > from) {
        between_[at_] += (end - from) * height;
        from = end;
      }
      if (to < max_costs_.values[at_]) return;
      ++at_;
    }
  }

  const std::vector<double>& between() const { return between_; }

 private:
  MaxCosts max_costs_;
  std::vector<double> between_;
  std::size_t at_ = 0;
};

// out[r] = power times the integral up to max_costs[r], from the parts of an integral in the order given: AE is 2 times
// the integral of D^2, SAW_1 once that of |D|.
inline void sum_up(const std::vector<Profile>& parts, const MaxCosts& max_costs, int power, double* out) {
  double total = 0;
  for (std::size_t r = 0; r < max_costs.count; ++r) {
    for (const Profile& part : parts) total += part.between()[r];
    out[r] = power * total;
  }
}

}  // namespace anchorot
