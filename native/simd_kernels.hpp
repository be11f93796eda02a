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

// Sum of |x[k] - y[k]|, or of the squares of `scale` times that, in kGapLanes lanes that are added up in one order.
constexpr std::size_t kGapLanes = 32;
struct GapKernels {
  double (*sum_f64)(const double* x, const double* y, std::size_t count, int p, double scale);
  double (*sum_f32)(const float* x, const float* y, std::size_t count, int p, double scale);
};

// The sorted heights of all rows, with D beside them; see moving_heights.hpp. Below the first entry there is one, and
// beyond the last there are kLiftWidth + 1, that no row can pass.
constexpr std::size_t kLiftWidth = 8;
struct HeightState {
  std::int64_t* height;  // of every entry
  double* d;             // D from this height to the next; right only in the last of equal heights
  std::uint32_t* row;    // of every entry; `count` beyond the last
  std::uint32_t* place;  // of every row, and of `count`
  const double* mass;    // of every row, signed
  std::size_t count;     // of rows
};
struct LiftEvent {
  double position;
  std::int64_t jump;
  std::uint32_t row;
};
struct HeightKernel {
  // Lift rows, one event after the other; change[e] <- by how much the integral of D^2 changes, or that of |D|. Returns
  // how many entries they pass.
  std::size_t (*lift)(const HeightState& state, const LiftEvent* events, std::size_t count, double* change);
  std::size_t (*lift_magnitudes)(const HeightState& state, const LiftEvent* events, std::size_t count, double* change);
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

// Alignment of networks; see networks.cpp. Numbers are worked on kNetworkLanes at a time, columns of dense matrices
// kNetworkStrip at a time.
constexpr std::size_t kNetworkLanes = 16, kNetworkStrip = 64;

// A sparse matrix by rows: row i has the columns neighbour[start[i]] ... neighbour[start[i + 1] - 1].
struct SparseView {
  const std::int32_t *start, *neighbour;
  const float* weight;
  std::size_t rows;
};
// Directed edges of the first graph by their tails, each with its reverse and its kind.
struct EdgeView {
  const std::int32_t *start, *neighbour, *reverse, *kind;
};
// Directed edges of the second graph, kNetworkLanes nodes of about the same degree side by side: group g has the nodes
// node[g][lane] (-1: none) and the slots start[g] ... start[g + 1] - 1, each of one edge of every lane. An empty place has
// a kind of which all ratios are 0.
struct LaneView {
  const std::int32_t *start, *node, *neighbour, *reverse, *kind;
  std::size_t groups, slots, most_slots;
};
struct MessageTask {
  EdgeView first;
  LaneView second;
  const float* plan;  // [n][m]
  std::size_t nodes;  // m
  const float* ratios;  // [kind of the first][kind of the second]
  std::size_t kinds;
  const float* free_ends;  // [edge of the first][slot][lane]
  float* next_free_ends;
  float* evidence;  // [n][m]
  int rounds;
};
struct NetworkKernels {
  void (*add_neighbours)(const std::int32_t* neighbour, const float* weight, std::size_t count, const float* rows,
                         std::size_t pitch, std::size_t width, float* out);
  // scratch for kNetworkLanes numbers a row of B and as many a column
  void (*multiply_panel)(const float* x, std::size_t rows, std::size_t columns, const SparseView& transposed,
                         float* out, float* scratch);
  float (*row_dot)(const float* row, const float* other, std::size_t count);
  void (*tilt_row)(float* plan, const float* slope, std::size_t count, float rate, float least);
  void (*add_scaled)(float* sums, const float* row, float scale, std::size_t count);
  void (*scale_row)(float* row, const float* scales, float scale, std::size_t count);
  // scratch for (3 degree + 1) * most_slots + 1 rows of lanes
  void (*pass_messages)(const MessageTask& task, std::size_t i, float* scratch);
};

struct KernelSet {
  PanelKernels<double> f64;
  PanelKernels<float> f32;
  TileKernel tile;
  GapKernels gaps;
  HeightKernel heights;
  LabelKernel label;
  NetworkKernels network;
};

const KernelSet& simd_kernels();  // for the processor at hand (dispatch.cpp)

}  // namespace anchorot
