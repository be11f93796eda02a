// Fenwick tree of mass and first moment, over ranks of heights: add at a rank, sum up to a rank, each in O(log size).
#pragma once

#include <cstddef>
#include <vector>

namespace anchorot {

struct MassMoment {
  double mass = 0;    // the paper's S
  double moment = 0;  // the paper's T: mass times height
};

class MassTree {
 public:
  explicit MassTree(std::size_t size) : nodes_(size + 1) {}

  void add(std::size_t rank, MassMoment what) {
    for (std::size_t k = rank + 1; k < nodes_.size(); k += k & (~k + 1)) {
      nodes_[k].mass += what.mass;
      nodes_[k].moment += what.moment;
    }
  }

  // Over ranks 0, ..., rank.
  MassMoment up_to(std::size_t rank) const {
    MassMoment sum;
    for (std::size_t k = rank + 1; k > 0; k -= k & (~k + 1)) {
      sum.mass += nodes_[k].mass;
      sum.moment += nodes_[k].moment;
    }
    return sum;
  }

 private:
  std::vector<MassMoment> nodes_;
};

}  // namespace anchorot
