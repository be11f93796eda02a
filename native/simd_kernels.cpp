// The kernels that gain from wide registers. Compiled once per instruction set, so that everything here
// has internal linkage or lives in the namespace ANCHOROT_ISA: a template shared with other files could be linked
// from the copy that the processor cannot run.
#include "simd_kernels.hpp"

#include "height_lift.hpp"
#include "label_sweep.hpp"
#include "network_kernels.hpp"
#include "portable.hpp"
#include "sort_network.hpp"

namespace ANCHOROT_ISA {
namespace {

using anchorot::kPanel;

// Line k of the scratch panel <- entry k of every row. Reads whole cache lines of the rows at a time; columns
// without a row are sorted too, so they must hold numbers.
template <class T>
void rows_to_panel(const T* rows, std::size_t length, std::size_t width, T* panel) {
  constexpr std::size_t P = kPanel<T>;
  for (std::size_t block = 0; block < length; block += P) {
    const std::size_t end = block + P < length ? block + P : length;
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t k = block; k < end; ++k) panel[k * P + c] = rows[c * length + k];
    }
    for (std::size_t c = width; c < P; ++c) {
      for (std::size_t k = block; k < end; ++k) panel[k * P + c] = 0;
    }
  }
}

template <class T>
void panel_to_rows(const T* panel, std::size_t length, std::size_t width, T* rows) {
  constexpr std::size_t P = kPanel<T>;
  for (std::size_t block = 0; block < length; block += P) {
    const std::size_t end = block + P < length ? block + P : length;
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t k = block; k < end; ++k) rows[c * length + k] = panel[k * P + c];
    }
  }
}

template <class T>
void sort_across(const T* rows, std::size_t length, std::size_t width, T* out, std::size_t pitch, T* scratch) {
  constexpr std::size_t P = kPanel<T>;
  for (std::size_t c = 0; c < width; c += P) {
    rows_to_panel(rows + c * length, length, width - c < P ? width - c : P, scratch + c * length);
    sort_panel(scratch + c * length, length);
  }
  for (std::size_t k = 0; k < length; ++k) {
    std::size_t c = 0;
    for (; c + P <= width; c += P) {
      for (std::size_t t = 0; t < P; ++t) out[k * pitch + c + t] = scratch[c * length + k * P + t];
    }
    for (std::size_t t = 0; c + t < width; ++t) out[k * pitch + c + t] = scratch[c * length + k * P + t];
  }
}

template <class T>
void sort_along(T* rows, std::size_t length, std::size_t width, T* scratch) {
  rows_to_panel(rows, length, width, scratch);
  sort_panel(scratch, length);
  panel_to_rows(scratch, length, width, rows);
}

// kTileRows x two registers of sums stay in registers while k runs; three operations for a register of |x - y|.
void add_l1(const double* x, const double* y, std::size_t count, double* out, std::size_t pitch) {
  constexpr std::size_t lanes = sizeof(VecF64) / sizeof(double);
  VecF64 sum[kTileRows][2];
  ANCHOROT_UNROLL(12)
  for (int i = 0; i < kTileRows; ++i) sum[i][0] = sum[i][1] = VecF64::fill(0);
  for (std::size_t k = 0; k < count; ++k, x += kTileRows, y += 2 * lanes) {
    const VecF64 y0 = VecF64::load(y), y1 = VecF64::load(y + lanes);
    ANCHOROT_UNROLL(12)
    for (int i = 0; i < kTileRows; ++i) {
      const VecF64 xi = VecF64::fill(x[i]);
      sum[i][0] = VecF64::add(sum[i][0], VecF64::abs(VecF64::sub(xi, y0)));
      sum[i][1] = VecF64::add(sum[i][1], VecF64::abs(VecF64::sub(xi, y1)));
    }
  }
  ANCHOROT_UNROLL(12)
  for (int i = 0; i < kTileRows; ++i) {
    double* row = out + i * pitch;
    VecF64::add(VecF64::load(row), sum[i][0]).store(row);
    VecF64::add(VecF64::load(row + lanes), sum[i][1]).store(row + lanes);
  }
}

// What is added up of a gap.
struct Magnitude {
  static VecF64 of(VecF64 gap, VecF64) { return VecF64::abs(gap); }
  static double of(double gap, double) { return std::fabs(gap); }
};
struct Square {
  static VecF64 of(VecF64 gap, VecF64) { return VecF64::mul(gap, gap); }
  static double of(double gap, double) { return gap * gap; }
};
struct ScaledSquare {
  static VecF64 of(VecF64 gap, VecF64 scale) { return Square::of(VecF64::mul(gap, scale), scale); }
  static double of(double gap, double scale) { return Square::of(gap * scale, scale); }
};

template <class Term, class T>
double sum_gaps(const T* x, const T* y, std::size_t count, double scale) {
  using anchorot::kGapLanes;
  constexpr std::size_t lanes = sizeof(VecF64) / sizeof(double), registers = kGapLanes / lanes;
  const VecF64 scales = VecF64::fill(scale);
  VecF64 sum[registers];
  ANCHOROT_UNROLL(16)
  for (std::size_t r = 0; r < registers; ++r) sum[r] = VecF64::fill(0);
  std::size_t k = 0;
  for (; k + kGapLanes <= count; k += kGapLanes) {
    ANCHOROT_UNROLL(16)
    for (std::size_t r = 0; r < registers; ++r) {
      const VecF64 gap = VecF64::sub(VecF64::load(x + k + r * lanes), VecF64::load(y + k + r * lanes));
      sum[r] = VecF64::add(sum[r], Term::of(gap, scales));
    }
  }
  double lane[kGapLanes];
  for (std::size_t r = 0; r < registers; ++r) sum[r].store(lane + r * lanes);
  for (std::size_t l = 0; k < count; ++k, ++l) {
    lane[l] += Term::of(static_cast<double>(x[k]) - static_cast<double>(y[k]), scale);
  }
  for (std::size_t half = kGapLanes / 2; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

template <class T>
double sum_powers(const T* x, const T* y, std::size_t count, int p, double scale) {
  if (p == 1) return sum_gaps<Magnitude>(x, y, count, scale);
  return scale == 1.0 ? sum_gaps<Square>(x, y, count, scale) : sum_gaps<ScaledSquare>(x, y, count, scale);
}

}  // namespace

extern const anchorot::KernelSet kernels;
const anchorot::KernelSet kernels{{sort_across<double>, sort_along<double>, sort_panel<double>},
                                  {sort_across<float>, sort_along<float>, sort_panel<float>},
                                  {kTileRows, 2 * sizeof(VecF64) / sizeof(double), add_l1},
                                  {sum_powers<double>, sum_powers<float>},
                                  {lift_rows<Squares>, lift_rows<Magnitudes>},
                                  {sweep_labels},
                                  {add_neighbours, multiply_panel, row_dot, tilt_row, add_scaled, scale_row,
                                   pass_messages}};

}  // namespace ANCHOROT_ISA
