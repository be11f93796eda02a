// The energy of a signed measure on the line for p >= 2, from the gaps between its points.
//
// With D the measure's CDF it is p (p - 1) double integral |x - y|^(p - 2) D(x) D(y) dx dy. Let q = p - 2 and
// A_k(x) = integral_{y < x} (x - y)^k D(y) dy. A gap g on which D = d is constant takes
//     A_k  ->  sum_j C(k, j) g^(k - j) A_j + d g^(k + 1) / (k + 1)
// and adds  d * (sum_j C(q, j) g^(q - j + 1) / (q - j + 1) A_j + d g^(q + 2) / ((q + 1) (q + 2)))  to
// integral D A_q, half of the double integral.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace anchorot {

class GapPowers {
 public:
  explicit GapPowers(int p)
      : q_(static_cast<std::size_t>(p) - 2), a_(q_ + 1, 0.0), powers_(q_ + 3, 1.0), choose_((q_ + 1) * (q_ + 1), 0.0) {
    for (std::size_t k = 0; k <= q_; ++k) {
      choose(k, 0) = 1;
      for (std::size_t j = 1; j <= k; ++j) choose(k, j) = choose(k - 1, j - 1) + (j < k ? choose(k - 1, j) : 0.0);
    }
  }

  void start() {
    std::fill(a_.begin(), a_.end(), 0.0);
    sum_ = 0;
  }

  void pass(double g, double d) {
    auto number = [](std::size_t k) { return static_cast<double>(k); };
    for (std::size_t k = 1; k < q_ + 3; ++k) powers_[k] = powers_[k - 1] * g;
    double added = d * powers_[q_ + 2] / (number(q_ + 1) * number(q_ + 2));
    for (std::size_t j = 0; j <= q_; ++j) added += choose(q_, j) * powers_[q_ - j + 1] / number(q_ - j + 1) * a_[j];
    for (std::size_t k = q_ + 1; k-- > 0;) {
      double next = d * powers_[k + 1] / number(k + 1);
      for (std::size_t j = 0; j <= k; ++j) next += choose(k, j) * powers_[k - j] * a_[j];
      a_[k] = next;
    }
    sum_ += d * added;
  }

  double energy() const {
    const auto q = static_cast<double>(q_);
    return 2.0 * (q + 1) * (q + 2) * sum_;
  }

 private:
  double& choose(std::size_t k, std::size_t j) { return choose_[k * (q_ + 1) + j]; }

  std::size_t q_;
  std::vector<double> a_, powers_, choose_;
  double sum_ = 0;
};

// The power of two just above a range: gaps in this unit are at most 1, and its reciprocal is a normal number too.
inline int scale_of(double range) { return range > 0 ? std::max(std::ilogb(range) + 1, -1000) : 0; }

}  // namespace anchorot
