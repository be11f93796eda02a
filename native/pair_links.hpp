// Candidate pairs of nodes of two graphs, and the links between them.
#pragma once

#include "simd_kernels.hpp"

namespace anchorot {

// Candidate pairs (i, j) of nodes by rows: row i has the columns column[start[i]] ... column[start[i + 1] - 1].
struct PairView {
  const std::int32_t *start, *column;
  std::size_t rows, columns;
};
// Links of pair p = (i, j), start[p] ... start[p + 1] - 1: an edge (i, k) and an edge (j, l) whose ends are the candidate
// pair `target`, and where the link back stands. They are in the order of the first edge, then of the second.
struct LinkSpan {
  const std::int64_t* start;
  std::int32_t *target, *reverse, *first_edge, *second_edge;
};
struct PairMessageTask {
  EdgeView first, second;
  PairView pairs;
  LinkSpan links;
  const float* plan;    // [pair]
  const float* ratios;  // [kind of the first][kind of the second]
  std::size_t kinds;
  const float* free_ends;  // [link]
  float* next_free_ends;
  float* evidence;  // [pair]
  int rounds;
};

}  // namespace anchorot
