// What is compiled once per instruction set: work on one panel (64 bytes' width) of rows, or on one tile of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anchorot {

constexpr std::size_t kLineBytes = 64;

template <class T>
constexpr std::size_t kPanel = kLineBytes / sizeof(T);  // rows of a matrix that are sorted side by side

constexpr std::size_t kGroup = 8;  // panels whose sorted columns are written side by side

// The first two sort `width` rows of `length` numbers.
template <class T>
struct PanelKernels {
  // out[k * pitch + c] = k-th smallest number of row c. Up to kGroup * kPanel rows, and `scratch` for as many panels of
  // `length` lines of 64 bytes: lines written far apart cost less when each is several cache lines long.
  void (*sort_across)(const T* rows, std::size_t length, std::size_t width, T* out, std::size_t pitch, T* scratch);
  // In place. Up to kPanel rows, scratch for one panel.
  void (*sort_along)(T* rows, std::size_t length, std::size_t width, T* scratch);
  // Every column of a panel of `lines` lines of 64 bytes.
  void (*sort_panel)(T* panel, std::size_t lines);
};

// A tile of sums of absolute differences: out[i * pitch + j] += sum over k of |x[k][i] - y[k][j]|.
struct TileKernel {
  std::size_t rows, columns;  // size of the tile; x and y are packed, `rows` and `columns` numbers for every k
  void (*add_l1)(const double* x, const double* y, std::size_t count, double* out, std::size_t pitch);
};

// Labellings of one pool of measures that are swept side by side; see labelled.cpp.
constexpr std::size_t kLabelLanes = 16;

struct LabelMove {
  std::uint32_t row, from, to;  // places by number
};
struct LabelGroup {
  double time;
  std::size_t end;  // the moves before this one, and after those of the group before, happen at the time
};
// How a stretch is swept: the energy computed afresh at every moment, from the masses at all places; or changed by every
// move, by the places that it passes, or by a tree over all places.
enum class LabelWay { kAfresh, kPassing, kTree };
// A run of moves, and the places that they visit.
struct LabelStretch {
  // One moment after which most rows stand elsewhere: all rows by place, and `step` from each to the next. Else null.
  const std::uint32_t* order;
  const double* place;  // ascending, about their middle: first moments far from zero would lose digits
  const double* step;   // from each place to the next; 0 from the last
  std::size_t places;
  const std::uint32_t* start;  // place of every row before the first move
  std::size_t rows;
  const LabelMove* moves;
  const LabelGroup* groups;
  std::size_t group_count;
  double first, next;  // when all began, and when the first move after this stretch happens
  LabelWay way;
};
struct LabelKernel {
  // integral[lane] += integral of the energy over the stretch. signed_mass has kLabelLanes numbers a row, scratch has
  // label_scratch(places) numbers.
  void (*sweep)(const LabelStretch& stretch, const double* signed_mass, double* scratch, double* integral);
};
constexpr std::size_t label_scratch(std::size_t places) { return (3 * places + 2) * kLabelLanes; }

struct KernelSet {
  PanelKernels<double> f64;
  PanelKernels<float> f32;
  TileKernel tile;
  LabelKernel label;
};

const KernelSet& simd_kernels();  // for the processor at hand (dispatch.cpp)

}  // namespace anchorot
