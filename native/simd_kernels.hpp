// What is compiled once per instruction set: work on one panel (64 bytes' width) of rows, or on one tile of a matrix.
#pragma once

#include <cstddef>

namespace anchorot {

constexpr std::size_t kLineBytes = 64;

template <class T>
constexpr std::size_t kPanel = kLineBytes / sizeof(T);  // rows of a matrix that are sorted side by side

constexpr std::size_t kGroup = 8;  // panels whose sorted columns are written side by side

// Both sort `width` rows of `length` numbers.
template <class T>
struct PanelKernels {
  // out[k * pitch + c] = k-th smallest number of row c. Up to kGroup * kPanel rows, and `scratch` for as many panels of
  // `length` lines of 64 bytes: lines written far apart cost less when each is several cache lines long.
  void (*sort_across)(const T* rows, std::size_t length, std::size_t width, T* out, std::size_t pitch, T* scratch);
  // In place. Up to kPanel rows, scratch for one panel.
  void (*sort_along)(T* rows, std::size_t length, std::size_t width, T* scratch);
};

// A tile of sums of absolute differences: out[i * pitch + j] += sum over k of |x[k][i] - y[k][j]|.
struct TileKernel {
  std::size_t rows, columns;  // size of the tile; x and y are packed, `rows` and `columns` numbers for every k
  void (*add_l1)(const double* x, const double* y, std::size_t count, double* out, std::size_t pitch);
};

struct KernelSet {
  PanelKernels<double> f64;
  PanelKernels<float> f32;
  TileKernel tile;
};

const KernelSet& simd_kernels();  // for the processor at hand (dispatch.cpp)

}  // namespace anchorot
