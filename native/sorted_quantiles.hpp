// The rows of one collection by their quantiles at a level t, and the mass up to each: G(., t), in steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels.hpp"

namespace anchorot {

constexpr std::int64_t kWholeShare = std::int64_t{1} << 62;  // shares of mass are integers in units of 2^-62

class SortedQuantiles {
 public:
  explicit SortedQuantiles(const LevelMoves& moves) : mass_(moves.rows), place_(moves.rows) {
    std::vector<std::pair<double, std::uint32_t>> sorted(moves.rows);
    std::int64_t missing = kWholeShare;
    for (std::uint32_t r = 0; r < moves.rows; ++r) {
      missing -= mass_[r] = static_cast<std::int64_t>(std::llrint(moves.mass[r] * static_cast<double>(kWholeShare)));
      sorted[r] = {moves.start[r], r};
    }
    *std::max_element(mass_.begin(), mass_.end()) += missing;  // rounded masses may sum to less or more
    std::sort(sorted.begin(), sorted.end());
    std::int64_t below = 0;
    for (std::uint32_t k = 0; k < moves.rows; ++k) {
      value_.push_back(sorted[k].first);
      row_.push_back(sorted[k].second);
      end_.push_back(below += mass_[row_[k]]);
      place_[row_[k]] = k;
    }
  }

  // Where a row stands, where it will stand when it has risen to a value, and the shares between which G changes.
  struct Rise {
    std::size_t from, to;
    std::int64_t begin, end;
  };
  Rise rise_of(std::uint32_t row, double value) const {
    const std::size_t from = place_[row];
    std::size_t to = from;
    while (to + 1 < value_.size() && value_[to + 1] < value) ++to;
    return {from, to, from == 0 ? 0 : end_[from - 1], end_[to]};
  }
  void apply(const Rise& rise, std::uint32_t row, double value) {
    for (std::size_t k = rise.from; k < rise.to; ++k) {
      value_[k] = value_[k + 1];
      row_[k] = row_[k + 1];
      place_[row_[k]] = static_cast<std::uint32_t>(k);
      end_[k] = end_[k + 1] - mass_[row];
    }
    value_[rise.to] = value;
    row_[rise.to] = row;
    place_[row] = static_cast<std::uint32_t>(rise.to);
  }

  // The entry that holds a share of the mass.
  std::size_t at(std::int64_t share) const {
    return static_cast<std::size_t>(std::upper_bound(end_.begin(), end_.end(), share) - end_.begin());
  }
  std::size_t size() const { return value_.size(); }
  double value(std::size_t k) const { return value_[k]; }
  std::int64_t end(std::size_t k) const { return end_[k]; }
  std::int64_t mass(std::uint32_t row) const { return mass_[row]; }

 private:
  std::vector<std::int64_t> mass_, end_;
  std::vector<double> value_;
  std::vector<std::uint32_t> row_, place_;
};

}  // namespace anchorot
