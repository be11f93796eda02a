// Anchor Energy (p >= 2) of two collections of weighted 1-D measures: a sweep over the levels.
//
// At level t every row r has a quantile z_r and a signed mass s_r (positive for the first collection, negative for the
// second), and AE_p is the integral over t of f = -sum_rq s_r s_q |z_r - z_q|^p. A row that moves from v to w changes f by
//
//     2 s (s |w - v|^p - Phi(w) + Phi(v)) ,   Phi(v) = sum_q s_q |z_q - v|^p .
//
// By the binomial theorem Phi is a sum of powers of v times moments of the masses: of all of them if p is even; if p is
// odd, of those below v minus those above, which a Fenwick tree over the values that a stretch of moves visits keeps.
//
// Rounding. Values are taken about the middle of those that a stretch visits, and in units of their whole range, so
// that no power leaves the range of floats. f is computed afresh, from gaps (gap_powers.hpp), at the start of every
// stretch and before every gap that is long compared with the whole way so far.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "gap_powers.hpp"
#include "interrupt.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kStretchMoves = 256, kStretchMovesPerRow = 4;  // least lengths of a stretch
constexpr std::size_t kBetweenChecks = 64;  // moves, or rows: each takes a microsecond or two if p is large
constexpr double kLongGap = 64;  // a gap is long from this part of the way so far on

// Sums of mass times the k-th power of the value, k = 0, ..., p; `P` is p where the compiler is to know it, else 0.
template <int P>
class Moments {
 public:
  explicit Moments(int p) : size_(static_cast<std::size_t>(p) + 1) {}
  std::size_t size() const { return P > 0 ? P + 1 : size_; }
  void add(double* sum, const double* what) const {
    for (std::size_t k = 0; k < size(); ++k) sum[k] += what[k];
  }

 private:
  std::size_t size_;
};

// Such sums over ranks: a Fenwick tree.
template <int P>
class MomentTree {
 public:
  MomentTree(std::size_t ranks, Moments<P> moments)
      : ranks_(ranks), moments_(moments), nodes_((ranks + 1) * moments.size()) {}

  void add(std::size_t rank, const double* what) {
    for (std::size_t k = rank + 1; k <= ranks_; k += k & (~k + 1)) moments_.add(&nodes_[k * moments_.size()], what);
  }

  // Over ranks 0, ..., rank.
  void up_to(std::size_t rank, double* sum) const {
    std::fill(sum, sum + moments_.size(), 0.0);
    for (std::size_t k = rank + 1; k > 0; k -= k & (~k + 1)) moments_.add(sum, &nodes_[k * moments_.size()]);
  }

 private:
  std::size_t ranks_;
  Moments<P> moments_;
  std::vector<double> nodes_;
};

// Phi, from moments.
template <int P>
class Potential {
 public:
  Potential(int p, std::size_t ranks) : odd_(p % 2 == 1), moments_(p), tree_(odd_ ? ranks : 0, moments_) {
    for (auto* sums : {&total_, &below_, &added_}) sums->resize(moments_.size(), 0.0);
    choose_.assign(moments_.size(), 1.0);
    for (std::size_t k = 1; k < moments_.size(); ++k) {  // C(p, k) (-1)^k
      choose_[k] = -choose_[k - 1] * static_cast<double>(moments_.size() - k) / static_cast<double>(k);
    }
  }

  // Put the mass s at a value.
  void add(std::size_t rank, double value, double s) {
    double* const added = added_.data();
    added[0] = s;
    for (std::size_t k = 1; k < moments_.size(); ++k) added[k] = added[k - 1] * value;
    moments_.add(total_.data(), added);
    if (odd_) tree_.add(rank, added);
  }

  // sum_k C(p, k) (-1)^k value^(p - k) m_k, by Horner's rule
  double operator()(std::size_t rank, double value) {
    if (odd_) tree_.up_to(rank, below_.data());
    double sum = 0;
    for (std::size_t k = 0; k < moments_.size(); ++k) {
      const double moment = odd_ ? 2 * below_[k] - total_[k] : total_[k];
      sum = sum * value + choose_[k] * moment;
    }
    return sum;
  }

 private:
  bool odd_;
  Moments<P> moments_;
  MomentTree<P> tree_;
  std::vector<double> total_, below_, added_, choose_;
};

// |x|^p by squaring
double absolute_power(double x, int p) {
  double power = 1;
  for (double square = std::abs(x); p > 0; p /= 2, square *= square) {
    if (p % 2 == 1) power *= square;
  }
  return power;
}

// The moves from `begin` to `end`, and all quantiles before them.
struct MoveStretch {
  std::size_t begin, end;
  std::vector<double> value;
};

std::vector<MoveStretch> stretches(const LevelMoves& moves) {
  const std::size_t length = std::max(kStretchMoves, kStretchMovesPerRow * moves.rows);
  std::vector<MoveStretch> result;
  std::vector<double> value(moves.start, moves.start + moves.rows);
  for (std::size_t begin = 0; begin == 0 || begin < moves.count; begin += length) {
    check_interrupt();
    const std::size_t end = std::min(begin + length, moves.count);
    result.push_back({begin, end, value});
    for (std::size_t e = begin; e < end; ++e) value[moves.row[e]] = moves.after[e];
  }
  return result;
}

// The quantiles of all rows during a stretch, and the energy that they have.
template <int P>
class MovingQuantiles {
 public:
  MovingQuantiles(const LevelMoves& moves, const MoveStretch& stretch, int p, double unit)
      : moves_(moves), p_(p), gaps_(p), order_(moves.rows), potential_(p, moves.rows + stretch.end - stretch.begin) {
    rank_values(stretch, unit);
    for (std::size_t r = 0; r < moves.rows; ++r) {
      if (r % kBetweenChecks == 0) check_interrupt();
      potential_.add(rank_[r], value_[rank_[r]], moves.mass[r]);
    }
    std::iota(order_.begin(), order_.end(), 0u);
  }

  // Make move number `e` of the stretch; returns by how much the energy changes.
  double move(std::size_t row, std::size_t e) {
    const std::uint32_t from = rank_[row], to = rank_[moves_.rows + e];
    const double v = value_[from], w = value_[to], s = moves_.mass[row];
    const double rise = potential_(to, w) - potential_(from, v);
    potential_.add(from, v, -s);
    potential_.add(to, w, s);
    rank_[row] = to;
    ++moved_;
    return 2 * s * (s * absolute_power(w - v, p_) - rise);
  }

  double energy() {
    sort_rows();
    gaps_.start();
    double d = 0;
    for (std::size_t k = 0; k + 1 < order_.size(); ++k) {
      if (k % kBetweenChecks == 0) check_interrupt();
      d += moves_.mass[order_[k]];
      const double gap = value_[rank_[order_[k + 1]]] - value_[rank_[order_[k]]];
      if (gap > 0) gaps_.pass(gap, d);
    }
    return gaps_.energy();
  }

 private:
  void rank_values(const MoveStretch& stretch, double unit) {
    std::vector<double> visited = stretch.value;
    visited.insert(visited.end(), moves_.after + stretch.begin, moves_.after + stretch.end);
    std::vector<std::int64_t> order(visited.size());
    value_.resize(visited.size());
    rank_.resize(visited.size());
    argsort(visited.data(), visited.size(), value_.data(), order.data(), 1);
    const double middle = 0.5 * value_.front() + 0.5 * value_.back();
    for (std::size_t k = 0; k < order.size(); ++k) {
      value_[k] = (value_[k] - middle) * unit;
      rank_[static_cast<std::size_t>(order[k])] = static_cast<std::uint32_t>(k);
    }
  }

  // Between two long gaps only few rows move: put those in their new place.
  void sort_rows() {
    auto before = [&](std::uint32_t a, std::uint32_t b) { return rank_[a] < rank_[b]; };
    if (moved_ > kFewMoves) {
      std::sort(order_.begin(), order_.end(), before);
    } else {
      for (std::size_t k = 1; k < order_.size(); ++k) {
        const std::uint32_t row = order_[k];
        std::size_t place = k;
        for (; place > 0 && before(row, order_[place - 1]); --place) order_[place] = order_[place - 1];
        order_[place] = row;
      }
    }
    moved_ = 0;
  }

  static constexpr std::size_t kFewMoves = 32;
  const LevelMoves& moves_;
  int p_;
  GapPowers gaps_;
  std::vector<std::uint32_t> order_;  // rows by value, as of the last energy()
  std::size_t moved_ = kFewMoves + 1;  // since then
  std::vector<double> value_;          // visited, ascending, about their middle
  std::vector<std::uint32_t> rank_;    // where every row stands among them; then, where every move goes
  Potential<P> potential_;
};

// integral of f from the first move of a stretch, or from level 0, to the first after it, or to level 1
template <int P>
double sweep(const LevelMoves& moves, const MoveStretch& stretch, int p, double unit) {
  MovingQuantiles<P> quantiles(moves, stretch, p, unit);
  double f = quantiles.energy(), here = stretch.begin == 0 ? 0.0 : moves.level[stretch.begin], sum = 0;
  auto advance = [&](double next) {
    if ((next - here) * kLongGap > next) f = quantiles.energy();
    sum += (next - here) * (p == 2 ? std::max(f, 0.0) : f);
    here = next;
  };
  for (std::size_t e = stretch.begin; e < stretch.end; ++e) {
    if (e % kBetweenChecks == 0) check_interrupt();
    advance(moves.level[e]);
    f += quantiles.move(moves.row[e], e - stretch.begin);
  }
  advance(stretch.end < moves.count ? moves.level[stretch.end] : 1.0);
  return sum;
}

// Where the compiler knows how many moments there are, trees take half the time.
auto sweep_for(int p) {
  switch (p) {
    case 3: return sweep<3>;
    case 5: return sweep<5>;
    case 7: return sweep<7>;
    default: return sweep<0>;
  }
}

}  // namespace

double level_sweep_energy(const LevelMoves& moves, int p, int threads) {
  auto [low, high] = std::minmax_element(moves.start, moves.start + moves.rows);
  double least = *low, most = *high;
  for (std::size_t e = 0; e < moves.count; ++e) {
    least = std::min(least, moves.after[e]);
    most = std::max(most, moves.after[e]);
  }
  if (!std::isfinite(most - least)) return std::numeric_limits<double>::infinity();
  const int scale = scale_of(most - least);
  const std::vector<MoveStretch> all = stretches(moves);
  std::vector<double> part(all.size());
  parallel_for(all.size(), threads, [&](std::size_t k, std::size_t) {
    part[k] = sweep_for(p)(moves, all[k], p, std::ldexp(1.0, -scale));
  });
  // In the order of stretches, whatever the threads.
  return std::ldexp(std::accumulate(part.begin(), part.end(), 0.0), scale * p);
}

}  // namespace anchorot
