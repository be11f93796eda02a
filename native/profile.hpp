// An integral over x, known at several reaches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels.hpp"

namespace anchorot {

// Collects gaps from left to right. Between two reaches there is one sum, so that all take one pass.
class Profile {
 public:
  explicit Profile(const Reaches& reaches) : max_costs_(reaches), between_(reaches.count, 0.0) {}

  // A new pass, from the left.
  void restart() { at_ = 0; }

  // The integrand is `height` from `from` to `to`.
  void add(double from, double to, double height) {
    while (at_ < max_costs_.count) {
      const double end = std::min(to, max_costs_.reach[at_]);
      if (end > from) {
        between_[at_] += (end - from) * height;
        from = end;
      }
      if (to < max_costs_.reach[at_]) return;
      ++at_;
    }
  }

  const std::vector<double>& between() const { return between_; }

 private:
  Reaches max_costs_;
  std::vector<double> between_;
  std::size_t at_ = 0;
};

// out[r] = factor times the integral up to reach[r], from the parts of an integral in the order given.
inline void sum_up(const std::vector<Profile>& parts, const Reaches& reaches, double factor, double* out) {
  double total = 0;
  for (std::size_t r = 0; r < reaches.count; ++r) {
    for (const Profile& part : parts) total += part.between()[r];
    out[r] = factor * total;
  }
}

}  // namespace anchorot
