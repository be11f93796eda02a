// Integral of the square of a difference D over the merged order of two sorted samples u and v.
//
// The merge runs from both ends at once: in min(n, m) steps neither end can run out of numbers, so the steps need no
// bounds, and two independent chains of them hide each other's latency. After s steps from below, of which i took a
// number of u, D² is difference.below(i, s); after s steps from above, of which j took one of u, difference.above(j, s).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace anchorot {

// D = i / n - (s - i) / m = (i m - (s - i) n) / (n m): an integer over another, so that it is exactly zero where it
// should be. It is zero beyond both ends, so that from above it is the same but for its sign.
class EqualTotals {
 public:
  EqualTotals(std::size_t n, std::size_t m)
      : n_(static_cast<std::int64_t>(n)),
        both_(static_cast<std::int64_t>(n + m)),
        unit_(1.0 / (static_cast<double>(n) * static_cast<double>(m))) {}

  double below(std::int64_t i, std::int64_t s) const {
    const double d = static_cast<double>(i * both_ - s * n_) * unit_;
    return d * d;
  }
  double above(std::int64_t j, std::int64_t s) const { return below(j, s); }

 private:
  const std::int64_t n_, both_;
  const double unit_;
};

// D = i a - (s - i) b = i (a + b) - s b for masses a and b of every number of u and of v, whose totals may differ. It is
// exactly zero where it should be if a = b. Multiples of a + b are looked up: that is less work than to make them.
class AnyTotals {
 public:
  AnyTotals(std::size_t n, double a, std::size_t m, double b)
      : multiples_(n + 1), b_(b), total_(static_cast<double>(n) * a - static_cast<double>(m) * b) {
    for (std::size_t i = 0; i <= n; ++i) multiples_[i] = static_cast<double>(i) * (a + b);
  }

  double below(std::int64_t i, std::int64_t s) const {
    const double d = taken(i, s);
    return d * d;
  }
  double above(std::int64_t j, std::int64_t s) const {
    const double d = total_ - taken(j, s);
    return d * d;
  }
  double beyond() const { return total_ * total_; }

 private:
  double taken(std::int64_t i, std::int64_t s) const {
    return multiples_[static_cast<std::size_t>(i)] - static_cast<double>(s) * b_;
  }
  std::vector<double> multiples_;
  double b_, total_;
};

// One of u and v may be empty.
template <class T, class Difference>
class TwoEndedMerge {
 public:
  TwoEndedMerge(const T* u, std::size_t n, const T* v, std::size_t m, const Difference& difference)
      : u_(u),
        v_(v),
        u_top_(n == 0 ? u : u + n - 1),
        v_top_(m == 0 ? v : v + m - 1),
        n_(static_cast<std::int64_t>(n)),
        m_(static_cast<std::int64_t>(m)),
        difference_(difference),
        low_(n == 0 ? v[0] : (m == 0 ? u[0] : std::min(u[0], v[0]))),
        high_(n == 0 ? *v_top_ : (m == 0 ? *u_top_ : std::max(*u_top_, *v_top_))) {}

  double top() const { return high_; }  // before the first step: the largest number

  void step(std::int64_t s) {
    const T a = u_[i_], b = v_[s - i_];
    const T z = a <= b ? a : b;
    sum_low_ += (static_cast<double>(z) - low_) * difference_.below(i_, s);
    low_ = z;
    i_ += a <= b;  // equal numbers: u's comes first

    const T c = u_top_[-j_], e = v_top_[j_ - s];
    const T y = c > e ? c : e;
    sum_high_ += (high_ - static_cast<double>(y)) * difference_.above(j_, s);
    high_ = y;
    j_ += c > e;  // and from above, v's
  }

  // After `steps` steps: what the two ends left in the middle, if n != m; then the gap between the ends.
  double finish(std::int64_t steps) {
    std::int64_t s = steps;
    const std::int64_t i_end = n_ - j_, k_end = m_ - (steps - j_);  // one past what is left of u and of v
    for (; s < n_ + m_ - steps; ++s) {
      const std::int64_t k = s - i_;
      const bool first = k == k_end || (i_ < i_end && u_[i_] <= v_[k]);
      const double z = first ? u_[i_] : v_[k];
      sum_low_ += (z - low_) * difference_.below(i_, s);
      low_ = z;
      i_ += first;
    }
    return sum_low_ + (high_ - low_) * difference_.below(i_, s) + sum_high_;
  }

 private:
  const T *u_, *v_, *u_top_, *v_top_;
  const std::int64_t n_, m_;
  const Difference& difference_;
  std::int64_t i_ = 0, j_ = 0;  // numbers of u taken from below and from above
  double low_, high_;           // where the two ends stand
  double sum_low_ = 0, sum_high_ = 0;
};

}  // namespace anchorot
