// Sparse systems A X = B, A symmetric and positive definite, of many right-hand sides:
//   A = L D L',  L lower triangular with ones on its diagonal, which are not kept, and D diagonal.
#include <algorithm>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kSideLanes = 16;  // right-hand sides that are solved for side by side

// Rows that column j of L has below the diagonal are those of A, and those of every column whose first one is j: it is
// their parent. So row k of L has numbers at the columns of A's row k, their parents, their parents' parents, up to k.
// visit(j) is called once for each of them.
template <class Visit>
void visit_row(const LowerRows& a, std::size_t k, const std::int32_t* parent, std::int32_t* seen, Visit&& visit) {
  seen[k] = static_cast<std::int32_t>(k);
  for (std::int64_t e = a.start[k]; e < a.start[k + 1]; ++e) {
    for (std::int32_t j = a.column[e]; seen[j] != seen[k]; j = parent[j]) {
      seen[j] = seen[k];
      visit(j);
    }
  }
}

// X <- inverse of A times X, for `width` numbers in every row.
template <class Width>
void substitute_strip(const Factor& f, double* x, std::size_t pitch, Width width) {
  double own[kSideLanes];
  for (std::size_t j = 0; j < f.n; ++j) {
    std::copy_n(x + j * pitch, width(), own);
    for (std::int64_t e = f.start[j]; e < f.start[j + 1]; ++e) {
      double* below = x + static_cast<std::size_t>(f.row[e]) * pitch;
      for (std::size_t lane = 0; lane < width(); ++lane) below[lane] -= f.value[e] * own[lane];
    }
  }
  for (std::size_t j = f.n; j-- > 0;) {
    double* at = x + j * pitch;
    for (std::size_t lane = 0; lane < width(); ++lane) own[lane] = at[lane] / f.diagonal[j];
    for (std::int64_t e = f.start[j]; e < f.start[j + 1]; ++e) {
      const double* below = x + static_cast<std::size_t>(f.row[e]) * pitch;
      for (std::size_t lane = 0; lane < width(); ++lane) own[lane] -= f.value[e] * below[lane];
    }
    std::copy_n(own, width(), at);
  }
}

}  // namespace

void factor_tree(const LowerRows& a, std::int32_t* parent, std::int64_t* counts) {
  std::vector<std::int32_t> seen(a.n, -1);
  std::fill_n(parent, a.n, -1);
  for (std::size_t k = 0; k < a.n; ++k) {
    const auto row = static_cast<std::int32_t>(k);
    visit_row(a, k, parent, seen.data(), [&](std::int32_t j) {
      if (parent[j] < 0) parent[j] = row;
      ++counts[j];
    });
  }
}

void factorise(const LowerRows& a, const std::int32_t* parent, const Factor& f) {
  std::vector<std::int64_t> end(f.start, f.start + a.n);
  std::vector<std::int32_t> seen(a.n, -1), columns;
  std::vector<double> work(a.n, 0.0);  // row k of L D; zero between two rows
  for (std::size_t k = 0; k < a.n; ++k) {
    columns.clear();
    visit_row(a, k, parent, seen.data(), [&](std::int32_t j) { columns.push_back(j); });
    std::sort(columns.begin(), columns.end());
    for (std::int64_t e = a.start[k]; e < a.start[k + 1]; ++e) work[a.column[e]] = a.value[e];
    double pivot = a.diagonal[k];
    for (const std::int32_t j : columns) {
      const double own = work[j], entry = own / f.diagonal[j];
      work[j] = 0.0;
      for (std::int64_t e = f.start[j]; e < end[j]; ++e) work[f.row[e]] -= f.value[e] * own;
      pivot -= entry * own;
      f.row[end[j]] = static_cast<std::int32_t>(k);
      f.value[end[j]++] = entry;
    }
    f.diagonal[k] = pivot;
    if (k % 256 == 0) check_interrupt();
  }
}

void substitute(const Factor& f, double* x, std::size_t columns) {
  for (std::size_t c = 0; c < columns; c += kSideLanes) {
    const std::size_t width = std::min(kSideLanes, columns - c);
    if (width == kSideLanes) {
      substitute_strip(f, x + c, columns, [] { return kSideLanes; });
    } else {
      substitute_strip(f, x + c, columns, [width] { return width; });
    }
    check_interrupt();
  }
}

}  // namespace anchorot
