// The Python tuples of src/anchorot/_kernels/records.py: their arrays, kept alive while a kernel reads them by view().
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "kernels.hpp"
#include "pair_links.hpp"
#include "simd_kernels.hpp"

namespace anchorot::records {

namespace nb = nanobind;

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Stack = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class Field>
Field field(const nb::tuple& record, std::size_t number) {
  return nb::cast<Field>(record[number]);
}

template <class T>
Levels<T> levels_of(const Matrix<const T>& matrix) {
  return {matrix.data(), matrix.shape(0), matrix.shape(1)};
}

inline Points points_of(const Matrix<const double>& points) {
  return {points.data(), points.shape(0), points.shape(1)};
}

inline GridSpec grid_of(const nb::tuple& record) {
  return {field<std::size_t>(record, 0), field<std::size_t>(record, 1), field<double>(record, 2),
          field<double>(record, 3)};
}

// LevelBlocks(numbers, shape, mass)
class LevelBlockArrays {
 public:
  explicit LevelBlockArrays(const nb::tuple& t)
      : numbers_(field<Vector<const double>>(t, 0)),
        shape_(field<Matrix<const std::int64_t>>(t, 1)),
        mass_(field<Vector<const double>>(t, 2)) {}
  LevelBlocks view() const { return {numbers_.data(), shape_.data(), mass_.data()}; }

 private:
  Vector<const double> numbers_;
  Matrix<const std::int64_t> shape_;
  Vector<const double> mass_;
};

inline BlockPairs pairs_of(const Matrix<const std::int64_t>& pairs) { return {pairs.data(), pairs.shape(0)}; }

inline MaxCosts max_costs_of(const Vector<const double>& max_costs) { return {max_costs.data(), max_costs.shape(0)}; }

// VectorLevels(levels, anchor, vectors)
class VectorLevelArrays {
 public:
  explicit VectorLevelArrays(const nb::tuple& t)
      : levels_(field<Matrix<const double>>(t, 0)),
        anchor_(field<Matrix<const std::uint32_t>>(t, 1)),
        vectors_(field<Matrix<const double>>(t, 2)) {}
  VectorLevels view() const {
    return {levels_.data(),  anchor_.data(),   levels_.shape(0),
            levels_.shape(1), vectors_.data(), vectors_.shape(1)};
  }

 private:
  Matrix<const double> levels_;
  Matrix<const std::uint32_t> anchor_;
  Matrix<const double> vectors_;
};

// WeightedLevels(levels, anchor, height)
class WeightedLevelArrays {
 public:
  explicit WeightedLevelArrays(const nb::tuple& t)
      : levels_(field<Matrix<const double>>(t, 0)),
        anchor_(field<Matrix<const std::uint32_t>>(t, 1)),
        height_(field<Vector<const std::int64_t>>(t, 2)) {}
  WeightedLevels view() const {
    return {levels_.data(), anchor_.data(), levels_.shape(0), levels_.shape(1), height_.data()};
  }

 private:
  Matrix<const double> levels_;
  Matrix<const std::uint32_t> anchor_;
  Vector<const std::int64_t> height_;
};

// (k, l, width)
class SegmentArrays {
 public:
  explicit SegmentArrays(const nb::tuple& t)
      : k_(field<Vector<const std::int64_t>>(t, 0)),
        l_(field<Vector<const std::int64_t>>(t, 1)),
        width_(field<Vector<const double>>(t, 2)) {}
  Segments view() const { return {k_.data(), l_.data(), width_.data(), width_.shape(0)}; }

 private:
  Vector<const std::int64_t> k_, l_;
  Vector<const double> width_;
};

// StepRows(value, end)
class StepRowArrays {
 public:
  explicit StepRowArrays(const nb::tuple& t)
      : value_(field<Matrix<const double>>(t, 0)), end_(field<Matrix<const double>>(t, 1)) {}
  StepRows view() const { return {value_.data(), end_.data(), value_.shape(0), value_.shape(1)}; }

 private:
  Matrix<const double> value_, end_;
};

// ShareSteps(level, point, step)
class ShareStepArrays {
 public:
  explicit ShareStepArrays(const nb::tuple& t)
      : level_(field<Vector<const double>>(t, 0)),
        point_(field<Vector<const std::uint32_t>>(t, 1)),
        step_(field<Vector<const double>>(t, 2)) {}
  ShareSteps view() const { return {level_.data(), point_.data(), step_.data(), level_.shape(0)}; }

 private:
  Vector<const double> level_;
  Vector<const std::uint32_t> point_;
  Vector<const double> step_;
};

// Events(position, row, jump, mass)
class EventArrays {
 public:
  explicit EventArrays(const nb::tuple& t)
      : position_(field<Vector<const double>>(t, 0)),
        row_(field<Vector<const std::uint32_t>>(t, 1)),
        jump_(field<Vector<const std::int64_t>>(t, 2)),
        mass_(field<Vector<const double>>(t, 3)) {}
  Events view() const {
    return {position_.data(), row_.data(), jump_.data(), position_.shape(0), mass_.data(), mass_.shape(0)};
  }

 private:
  Vector<const double> position_;
  Vector<const std::uint32_t> row_;
  Vector<const std::int64_t> jump_;
  Vector<const double> mass_;
};

// LevelMoves(level, row, before, after, start), and the mass of every row
class LevelMoveArrays {
 public:
  LevelMoveArrays(const nb::tuple& t, Vector<const double> mass)
      : level_(field<Vector<const double>>(t, 0)),
        row_(field<Vector<const std::uint32_t>>(t, 1)),
        after_(field<Vector<const double>>(t, 3)),
        start_(field<Vector<const double>>(t, 4)),
        mass_(std::move(mass)) {}
  LevelMoves view() const {
    return {level_.data(), row_.data(), after_.data(), level_.shape(0), start_.data(), mass_.data(), start_.shape(0)};
  }

 private:
  Vector<const double> level_;
  Vector<const std::uint32_t> row_;
  Vector<const double> after_, start_, mass_;
};

// PlaceMoves(time, row, target, start, place, begin, end)
class PlaceMoveArrays {
 public:
  explicit PlaceMoveArrays(const nb::tuple& t)
      : time_(field<Vector<const double>>(t, 0)),
        row_(field<Vector<const std::uint32_t>>(t, 1)),
        target_(field<Vector<const std::uint32_t>>(t, 2)),
        start_(field<Vector<const std::uint32_t>>(t, 3)),
        place_(field<Vector<const double>>(t, 4)),
        begin_(field<double>(t, 5)),
        end_(field<double>(t, 6)) {}
  PlaceMoves view() const {
    return {time_.data(),    row_.data(),   target_.data(),  time_.shape(0), start_.data(),
            start_.shape(0), place_.data(), place_.shape(0), begin_,         end_};
  }

 private:
  Vector<const double> time_;
  Vector<const std::uint32_t> row_, target_, start_;
  Vector<const double> place_;
  double begin_, end_;
};

// RowItems(item, mass)
class RowItemArrays {
 public:
  explicit RowItemArrays(const nb::tuple& t)
      : item_(field<Vector<const std::uint32_t>>(t, 0)), mass_(field<Vector<const double>>(t, 1)) {}
  RowItems view() const { return {item_.data(), mass_.data(), mass_.shape(0)}; }

 private:
  Vector<const std::uint32_t> item_;
  Vector<const double> mass_;
};

// SparseRows(start, neighbour, weight)
class SparseArrays {
 public:
  explicit SparseArrays(const nb::tuple& t)
      : start_(field<Vector<const std::int32_t>>(t, 0)),
        neighbour_(field<Vector<const std::int32_t>>(t, 1)),
        weight_(field<Vector<const float>>(t, 2)) {}
  SparseView view() const { return {start_.data(), neighbour_.data(), weight_.data(), start_.shape(0) - 1}; }

 private:
  Vector<const std::int32_t> start_, neighbour_;
  Vector<const float> weight_;
};

// EdgeRows(start, neighbour, reverse, kind)
class EdgeArrays {
 public:
  explicit EdgeArrays(const nb::tuple& t)
      : start_(field<Vector<const std::int32_t>>(t, 0)),
        neighbour_(field<Vector<const std::int32_t>>(t, 1)),
        reverse_(field<Vector<const std::int32_t>>(t, 2)),
        kind_(field<Vector<const std::int32_t>>(t, 3)) {}
  EdgeView view() const { return {start_.data(), neighbour_.data(), reverse_.data(), kind_.data()}; }
  std::size_t nodes() const { return start_.shape(0) - 1; }

 private:
  Vector<const std::int32_t> start_, neighbour_, reverse_, kind_;
};

// EdgeLanes(start, node, neighbour, reverse, kind)
class LaneArrays {
 public:
  explicit LaneArrays(const nb::tuple& t)
      : start_(field<Vector<const std::int32_t>>(t, 0)),
        node_(field<Vector<const std::int32_t>>(t, 1)),
        neighbour_(field<Vector<const std::int32_t>>(t, 2)),
        reverse_(field<Vector<const std::int32_t>>(t, 3)),
        kind_(field<Vector<const std::int32_t>>(t, 4)) {}
  LaneView view() const {
    const std::size_t groups = start_.shape(0) - 1;
    std::int32_t most = 0;
    for (std::size_t g = 0; g < groups; ++g) most = std::max(most, start_.data()[g + 1] - start_.data()[g]);
    return {start_.data(),   node_.data(), neighbour_.data(),
            reverse_.data(), kind_.data(), groups,
            neighbour_.shape(0) / kNetworkLanes, static_cast<std::size_t>(most)};
  }

 private:
  Vector<const std::int32_t> start_, node_, neighbour_, reverse_, kind_;
};

// PairRows(start, column, columns)
class PairArrays {
 public:
  explicit PairArrays(const nb::tuple& t)
      : start_(field<Vector<const std::int32_t>>(t, 0)),
        column_(field<Vector<const std::int32_t>>(t, 1)),
        columns_(field<std::size_t>(t, 2)) {}
  PairView view() const { return {start_.data(), column_.data(), start_.shape(0) - 1, columns_}; }

 private:
  Vector<const std::int32_t> start_, column_;
  std::size_t columns_;
};

// PairLinks(start, target, reverse, first_edge, second_edge)
class LinkArrays {
 public:
  explicit LinkArrays(const nb::tuple& t)
      : start_(field<Vector<const std::int64_t>>(t, 0)),
        target_(field<Vector<std::int32_t>>(t, 1)),
        reverse_(field<Vector<std::int32_t>>(t, 2)),
        first_edge_(field<Vector<std::int32_t>>(t, 3)),
        second_edge_(field<Vector<std::int32_t>>(t, 4)) {}
  LinkSpan view() const {
    return {start_.data(), target_.data(), reverse_.data(), first_edge_.data(), second_edge_.data()};
  }

 private:
  Vector<const std::int64_t> start_;
  Vector<std::int32_t> target_, reverse_, first_edge_, second_edge_;
};

// LowerRows(start, column, value, diagonal)
class LowerRowArrays {
 public:
  explicit LowerRowArrays(const nb::tuple& t)
      : start_(field<Vector<const std::int64_t>>(t, 0)),
        column_(field<Vector<const std::int32_t>>(t, 1)),
        value_(field<Vector<const double>>(t, 2)),
        diagonal_(field<Vector<const double>>(t, 3)) {}
  LowerRows view() const {
    return {start_.data(), column_.data(), value_.data(), diagonal_.data(), diagonal_.shape(0)};
  }

 private:
  Vector<const std::int64_t> start_;
  Vector<const std::int32_t> column_;
  Vector<const double> value_, diagonal_;
};

// Factor(start, row, value, diagonal)
class FactorArrays {
 public:
  explicit FactorArrays(const nb::tuple& t)
      : start_(field<Vector<const std::int64_t>>(t, 0)),
        row_(field<Vector<std::int32_t>>(t, 1)),
        value_(field<Vector<double>>(t, 2)),
        diagonal_(field<Vector<double>>(t, 3)) {}
  Factor view() const { return {start_.data(), row_.data(), value_.data(), diagonal_.data(), diagonal_.shape(0)}; }

 private:
  Vector<const std::int64_t> start_;
  Vector<std::int32_t> row_;
  Vector<double> value_, diagonal_;
};

}  // namespace anchorot::records
