// The kernels that the Python module binds. Arrays are dense and row-major; nothing is checked here.
//
// What is too large for a float is infinite: costs whose range is, and energies and costs that are. Every kernel that
// may take long ends with Interrupted if its caller wants that (interrupt.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anchorot {

const char* simd_level();  // the instruction set in use: "avx512", "avx2" or "baseline"

// -- sorting (levels.cpp) ------------------------------------------------------------------------------------------
// out[k][i] = k-th smallest of the `length` numbers of row i: its quantile at level k / length.
template <class T>
void quantiles(const T* matrix, T* out, std::size_t rows, std::size_t length, int threads);

// Sort each of the `rows` rows of `length` numbers in place.
template <class T>
void sort_rows(T* matrix, std::size_t rows, std::size_t length, int threads);

// Levels of a space whose points weigh the same: its n x n costs with every row sorted, transposed, every row sorted.
template <class T>
struct SpaceCosts {
  const T* cost;
  T* out;
  std::size_t n;
};
// Of many spaces. What validation would have to look at is left out, and not `ordinary`: costs that are negative or not
// finite, or whose diagonal has a larger mean than all of them.
template <class T>
void space_levels(const std::vector<SpaceCosts<T>>& spaces, bool* ordinary, int threads);

// -- distances between points (points.cpp) -------------------------------------------------------------------------
// n points with d coordinates each.
struct Points {
  const double* coordinates;
  std::size_t n, d;
};
// out[i][j] = Euclidean distance of x_i and y_j, squares added up one after the other
void euclidean(const Points& x, const Points& y, double* out);
// Distances within each of many clouds. False in `ordinary` where coordinates are so large or small that squares need
// care, or the largest distance is outside the range of T.
template <class T>
struct Cloud {
  Points points;
  T* out;
};
template <class T>
void cloud_costs(const std::vector<Cloud<T>>& clouds, bool* ordinary, int threads);

// -- Anchor Energy of uniform spaces (merge.cpp) -------------------------------------------------------------------
// `levels` rows of `count` numbers each, sorted: the quantiles of all anchors at each of equally many levels.
template <class T>
struct Levels {
  const T* numbers;
  std::size_t levels, count;
  const T* at(std::size_t k) const { return numbers + k * count; }
};

// AE_1.
template <class T>
double level_energy(const Levels<T>& x, const Levels<T>& y, int threads);

// -- Sliced Anchor Wasserstein (transport.cpp; weights: sweep.cpp, quantile_sweep.cpp) -----------------------------
// SAW_p, p = 1 or 2, with the root.
template <class T>
double level_transport(const Levels<T>& x, const Levels<T>& y, int p, int threads);
// out[i][j] = the same of xs[i] and ys[j], for i < counts[j]
template <class T>
void level_transports(const std::vector<Levels<T>>& xs, const std::vector<Levels<T>>& ys, const std::int64_t* counts,
                      int p, double* out);

// -- Anchor Energy with attributes of uniform spaces (blocks.cpp) ----------------------------------------------------
// Levels of several collections, one after the other. No number is above the max_cost that they are compared up to.
struct LevelBlocks {
  const double* numbers;
  const std::int64_t* shape;  // of every block: where its numbers begin, levels, count
  const double* mass;         // of every block: what each of its numbers weighs
  Levels<double> at(std::int64_t block) const {
    const std::int64_t* s = shape + 3 * block;
    return {numbers + s[0], static_cast<std::size_t>(s[1]), static_cast<std::size_t>(s[2])};
  }
};
// Which block of x meets which of y; -1 stands for a block without numbers.
struct BlockPairs {
  const std::int64_t* blocks;  // [pair][x, y]
  std::size_t count;
};
struct MaxCosts {
  const double* values;  // ascending
  std::size_t count;
};
// out[pair] = 2 integral over t and x <= max_cost of D(x, t)^2, D the mass of x's numbers up to x less that of y's
void block_energies(const LevelBlocks& x, const LevelBlocks& y, const BlockPairs& pairs, double max_cost, double* out,
                    int threads);
// out[r] = the sum of those over all pairs, up to max_costs[r] (power 2); or of the integrals of |D| (power 1)
void block_profile(const LevelBlocks& x, const LevelBlocks& y, const BlockPairs& pairs, const MaxCosts& max_costs,
                   int power, double* out, int threads);

// Levels whose numbers weigh what their anchors do, vectors.
struct VectorLevels {
  const double* numbers;        // [level][count], sorted
  const std::uint32_t* anchor;  // of every number
  std::size_t levels, count;
  const double* vectors;  // [anchor][size]
  std::size_t size;
};
// out[r] = 2 integral over t and x <= max_costs[r] of |D(x, t)|^2
void vector_profile(const VectorLevels& x, const VectorLevels& y, const MaxCosts& max_costs, double* out, int threads);

// -- levels whose anchors weigh unequally (weighted_levels.cpp) -------------------------------------------------------
struct WeightedLevels {
  const double* numbers;        // [level][count], sorted
  const std::uint32_t* anchor;  // of every number
  std::size_t levels, count;
  const std::int64_t* height;  // of every anchor: its mass in units of 2^-62
};
// integral over t and x <= max_cost of |D(x, t)|^power, D the mass of x's numbers up to x less that of y's
double weighted_gaps(const WeightedLevels& x, const WeightedLevels& y, int power, double max_cost, int threads);
// SAW_2, of masses that sum to 1
double weighted_transport(const WeightedLevels& x, const WeightedLevels& y, int threads);

// -- crystals (periodic.cpp) ------------------------------------------------------------------------------------------
// Atoms in a cell that repeats along its three edges.
struct Crystal {
  const double* cell;      // [edge][coordinate]
  const double* fraction;  // [atom][edge]
  const std::uint32_t* kind;
  std::size_t count, species;  // every species has an atom
};
// out[atom][species] = distances to the k nearest atoms of that species, ascending; an atom is not its own neighbour
void periodic_distances(const Crystal& crystal, std::size_t k, double* out);

// -- transport costs between all rows (row_costs.cpp) --------------------------------------------------------------
// out[i][j] = sum over s of width[s] |x[k[s]][i] - y[l[s]][j]|; x and y have n and m numbers at each level.
struct Segments {
  const std::int64_t *k, *l;
  const double* width;
  std::size_t count;
};
void l1_costs(const double* x, std::size_t n, const double* y, std::size_t m, const Segments& segments, double* out,
              int threads);

// Rows as step functions of the level: value[i][a] up to the level end[i][a], the last of which is the largest.
struct StepRows {
  const double *value, *end;
  std::size_t rows, steps;
};
// out[i][j] = integral over the level of |x_i - y_j|^p
void step_costs(const StepRows& x, const StepRows& y, int p, double* out, int threads);

// -- plans (plans.cpp) ---------------------------------------------------------------------------------------------
// out[r][k] = share of the rows of the n x n matrix in which column k has rank r; equal costs share their ranks if
// split_ties, else they stand in the order of their columns.
void level_shares(const double* cost, std::size_t n, bool split_ties, double* out);

// Shares of points as step functions of the level: at level[e] the share of point[e] rises by step[e].
struct ShareSteps {
  const double* level;  // ascending
  const std::uint32_t* point;
  const double* step;
  std::size_t count;
};
// out[k][l] = integral over the level of (share of k in x) * (share of l in y), for n and m points
void share_product(const ShareSteps& x, std::size_t n, const ShareSteps& y, std::size_t m, double* out, int threads);

// -- general weights (argsort.cpp, sweep.cpp) ----------------------------------------------------------------------
// sorted[k] = values[order[k]], ascending; equal values keep their order.
void argsort(const double* values, std::size_t count, double* sorted, std::int64_t* order, int threads);

// The same of all entries of a matrix: position[e], ascending, stood in row[e], in a column c; jump[e] = jumps[c]. Of a
// symmetric matrix the upper half, where every entry is followed by its mirror image.
void cost_events(const double* cost, std::size_t rows, std::size_t columns, const std::int64_t* jumps,
                 double* position, std::uint32_t* row, std::int64_t* jump, int threads);

// Every jump of every CDF of one collection of 1-D measures, by position. Heights and jumps are in units of 2^-62,
// so that sums of them are exact.
struct Events {
  const double* position;    // ascending
  const std::uint32_t* row;  // which CDF jumps
  const std::int64_t* jump;  // by how much
  std::size_t count;
  const double* mass;  // of every row, sum 1
  std::size_t rows;
};
constexpr double kHeightUnit = 1.0 / static_cast<double>(std::int64_t{1} << 62);

double sweep_energy(const Events& x, const Events& y, int threads);  // AE_1
double sweep_transport(const Events& x, const Events& y, int threads);  // SAW_1
// out[r] = AE_1 (power 2) or SAW_1 (power 1) of positions up to max_costs[r]
void sweep_profile(const Events& x, const Events& y, const MaxCosts& max_costs, int power, double* out, int threads);

// How the quantiles of all rows of one collection move as the level rises from 0 to 1.
struct LevelMoves {
  const double* level;  // ascending
  const std::uint32_t* row;
  const double* after;  // the row's quantile from that level on
  std::size_t count;
  const double* start;  // quantiles at level 0
  const double* mass;   // of every row, sum 1
  std::size_t rows;
};
double level_sweep_transport(const LevelMoves& x, const LevelMoves& y);  // SAW_2, of rows with masses of sum 1
// out[l][k] = average over a cell of levels and shares of G(s, t), the s-quantile of the rows' quantiles at level t
void quantile_averages(const LevelMoves& x, std::size_t levels, std::size_t shares, double* out);

// -- one pool of measures under many labellings (labelled.cpp) -----------------------------------------------------
// Rows stand at places and move from time to time.
struct PlaceMoves {
  const double* time;  // ascending; a row moves once at a time
  const std::uint32_t *row, *target;
  std::size_t count;
  const std::uint32_t* start;  // place of every row at the beginning
  std::size_t rows;
  const double* place;  // ascending
  std::size_t places;
  double begin, end;  // of the time; all moves lie between
};
// Rows belong to items, which are labelled as a whole; the masses of an item's rows sum to 1.
struct RowItems {
  const std::uint32_t* item;  // of every row
  const double* mass;
  std::size_t rows;
};
struct Labels {
  const std::uint8_t* in_x;  // [labelling][item]: whether the item is in the first collection
  std::size_t count, items;  // as many items are in the first collection in every labelling
};
// out[labelling] = energy distance of the two collections
void labelled_energies(const PlaceMoves& moves, const RowItems& items, const Labels& labels, double* out, int threads);
// how long that takes for one labelling, in passes over one place
double labelled_steps(const PlaceMoves& moves);

// -- alignment of networks (networks.cpp) ---------------------------------------------------------------------------
struct SparseView;  // simd_kernels.hpp
struct EdgeView;
struct MessageTask;
// out = A X, and out = X B by the rows of B transposed; X has as many columns, and rows, as is said.
void multiply_left(const SparseView& a, const float* x, std::size_t columns, float* out, int threads);
void multiply_right(const float* x, std::size_t rows, std::size_t columns, const SparseView& transposed, float* out,
                    int threads);
// plan <- plan * exp(rate * slope), scaled so that rows sum to 1 and columns, row i counted copies[i] times, to 1.
void tilt_plan(float* plan, const float* slope, std::size_t rows, std::size_t columns, float rate, const float* copies,
               int rounds, int threads);
// Standard deviation of all entries.
double spread(const float* matrix, std::size_t rows, std::size_t columns, int threads);
// One round of belief propagation on pairs of edges. At the pair (i, j) an edge (i, k) and an edge (j, l) that are the same
// edge weigh w_kl = ratio of their kinds * P_kl * the chance that (k, l) needs neither for itself. Z_ij sums the products of
// w over all matchings of neighbours, in Bethe's approximation: evidence = log Z_ij, and of every pair of edges
// the share of that sum in which both are free is said to (k, l) in the next round.
void pass_messages(const MessageTask& task, std::size_t nodes, int threads);

// -- alignment of large networks (pair_links.cpp) --------------------------------------------------------------------
struct PairView;  // pair_links.hpp
struct LinkSpan;
struct PairMessageTask;
// counts[p] += the number of links of pair p.
void count_links(const EdgeView& first, const EdgeView& second, const PairView& pairs, std::int64_t* counts,
                 int threads);
// Fills everything but out.start, which the counts have given.
void link_pairs(const EdgeView& first, const EdgeView& second, const PairView& pairs, const LinkSpan& out, int threads);
// The same round as pass_messages, where pairs that are no candidates have P = 0.
void pass_pair_messages(const PairMessageTask& task, int threads);

// -- sparse systems (factor.cpp) ------------------------------------------------------------------------------------
// A symmetric matrix A by rows, its diagonal apart: row k has numbers at column[start[k]] ... column[start[k + 1] - 1] < k.
struct LowerRows {
  const std::int64_t* start;
  const std::int32_t* column;
  const double *value, *diagonal;
  std::size_t n;
};
// L and D by columns, A = L D L': column j has numbers below the diagonal in row[start[j]] ... row[start[j + 1] - 1].
struct Factor {
  const std::int64_t* start;
  std::int32_t* row;
  double *value, *diagonal;
  std::size_t n;
};
// parent[j] = the first row below the diagonal in which column j of L has a number, or -1; counts[j] += their number
void factor_tree(const LowerRows& a, std::int32_t* parent, std::int64_t* counts);
void factorise(const LowerRows& a, const std::int32_t* parent, const Factor& out);
// X <- inverse of A times X; no number of a column depends on another column
void substitute(const Factor& f, double* x, std::size_t columns);

// -- cell averages (grid.cpp) --------------------------------------------------------------------------------------
// Equal cells over the range [low, high] of x and all levels t in [0, 1].
struct GridSpec {
  std::size_t cells_x, cells_t;
  double low, high;
};
// out[s][i][j] = average over cell (i, j) of F(x, t) of space s, the mass of the anchors whose quantile at t is at most x
template <class T>
void level_averages(const std::vector<Levels<T>>& xs, const GridSpec& grid, double* out, int threads);
// The same of one collection of weighted measures.
void event_averages(const Events& x, const GridSpec& grid, double* out);

}  // namespace anchorot
