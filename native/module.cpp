// The Python module anchorot._kernels._native: array checks are done in Python, the GIL is released here.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "kernels.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
void bind_levels(nb::module_& m) {
  m.def(
      "quantiles",
      [](Matrix<const T> matrix, Matrix<T> out, int threads) {
        nb::gil_scoped_release release;
        anchorot::quantiles(matrix.data(), out.data(), matrix.shape(0), matrix.shape(1), threads);
      },
      "matrix"_a, "out"_a, "threads"_a);
  m.def(
      "sort_rows",
      [](Matrix<T> matrix, int threads) {
        nb::gil_scoped_release release;
        anchorot::sort_rows(matrix.data(), matrix.shape(0), matrix.shape(1), threads);
      },
      "matrix"_a, "threads"_a);
  m.def(
      "level_energy",
      [](Matrix<const T> x, Matrix<const T> y, int p, int threads) {
        const anchorot::Levels<T> levels_x{x.data(), x.shape(0), x.shape(1)};
        const anchorot::Levels<T> levels_y{y.data(), y.shape(0), y.shape(1)};
        nb::gil_scoped_release release;
        return anchorot::level_energy(levels_x, levels_y, p, threads);
      },
      "x"_a, "y"_a, "p"_a, "threads"_a);
  m.def(
      "level_averages",
      [](Matrix<const T> levels, double low, double high, Matrix<double> out) {
        const anchorot::Levels<T> x{levels.data(), levels.shape(0), levels.shape(1)};
        const anchorot::CellGrid grid{out.shape(0), out.shape(1), low, high};
        nb::gil_scoped_release release;
        anchorot::level_averages(x, grid, out.data());
      },
      "levels"_a, "low"_a, "high"_a, "out"_a);
}

// The arrays of the Python tuple Events(position, row, jump, mass), kept alive while a kernel reads them.
class EventArrays {
 public:
  explicit EventArrays(const nb::tuple& t)
      : position_(nb::cast<Vector<const double>>(t[0])),
        row_(nb::cast<Vector<const std::uint32_t>>(t[1])),
        jump_(nb::cast<Vector<const std::int64_t>>(t[2])),
        mass_(nb::cast<Vector<const double>>(t[3])) {}
  anchorot::Events view() const {
    return {position_.data(), row_.data(), jump_.data(), position_.shape(0), mass_.data(), mass_.shape(0)};
  }

 private:
  Vector<const double> position_;
  Vector<const std::uint32_t> row_;
  Vector<const std::int64_t> jump_;
  Vector<const double> mass_;
};

}  // namespace

NB_MODULE(_native, m) {
  m.def("simd_level", &anchorot::simd_level);
  bind_levels<double>(m);
  bind_levels<float>(m);
  m.def(
      "l1_costs",
      [](Matrix<const double> x, Matrix<const double> y, Vector<const std::int64_t> k, Vector<const std::int64_t> l,
         Vector<const double> width, Matrix<double> out, int threads) {
        const anchorot::Segments segments{k.data(), l.data(), width.data(), width.shape(0)};
        nb::gil_scoped_release release;
        anchorot::l1_costs(x.data(), x.shape(1), y.data(), y.shape(1), segments, out.data(), threads);
      },
      "x"_a, "y"_a, "k"_a, "l"_a, "width"_a, "out"_a, "threads"_a);
  m.def(
      "step_costs",
      [](Matrix<const double> value_x, Matrix<const double> end_x, Matrix<const double> value_y,
         Matrix<const double> end_y, int p, Matrix<double> out, int threads) {
        const anchorot::StepRows x{value_x.data(), end_x.data(), value_x.shape(0), value_x.shape(1)};
        const anchorot::StepRows y{value_y.data(), end_y.data(), value_y.shape(0), value_y.shape(1)};
        nb::gil_scoped_release release;
        anchorot::step_costs(x, y, p, out.data(), threads);
      },
      "value_x"_a, "end_x"_a, "value_y"_a, "end_y"_a, "p"_a, "out"_a, "threads"_a);
  m.def(
      "level_shares",
      [](Matrix<const double> cost, bool split_ties, Matrix<double> out) {
        nb::gil_scoped_release release;
        anchorot::level_shares(cost.data(), cost.shape(0), split_ties, out.data());
      },
      "cost"_a, "split_ties"_a, "out"_a);
  m.def(
      "share_product",
      [](Vector<const double> level_x, Vector<const std::uint32_t> point_x, Vector<const double> step_x,
         Vector<const double> level_y, Vector<const std::uint32_t> point_y, Vector<const double> step_y,
         Matrix<double> out, int threads) {
        const anchorot::ShareSteps x{level_x.data(), point_x.data(), step_x.data(), level_x.shape(0)};
        const anchorot::ShareSteps y{level_y.data(), point_y.data(), step_y.data(), level_y.shape(0)};
        nb::gil_scoped_release release;
        anchorot::share_product(x, out.shape(0), y, out.shape(1), out.data(), threads);
      },
      "level_x"_a, "point_x"_a, "step_x"_a, "level_y"_a, "point_y"_a, "step_y"_a, "out"_a, "threads"_a);
  m.def(
      "argsort",
      [](Vector<const double> values, Vector<double> sorted, Vector<std::int64_t> order, int threads) {
        nb::gil_scoped_release release;
        anchorot::argsort(values.data(), values.shape(0), sorted.data(), order.data(), threads);
      },
      "values"_a, "sorted"_a, "order"_a, "threads"_a);
  m.def(
      "sweep_energy",
      [](const nb::tuple& x, const nb::tuple& y, int threads) {
        const EventArrays events_x(x), events_y(y);
        nb::gil_scoped_release release;
        return anchorot::sweep_energy(events_x.view(), events_y.view(), threads);
      },
      "x"_a, "y"_a, "threads"_a);
  m.def(
      "fenwick_expected_cost",
      [](const nb::tuple& x, const nb::tuple& y) {
        const EventArrays events_x(x), events_y(y);
        nb::gil_scoped_release release;
        return anchorot::fenwick_expected_cost(events_x.view(), events_y.view());
      },
      "x"_a, "y"_a);
  m.def(
      "labelled_energies",
      [](Vector<const double> time, Vector<const std::uint32_t> row, Vector<const std::uint32_t> target,
         Vector<const std::uint32_t> start, Vector<const double> place, double begin, double end,
         Vector<const std::uint32_t> item, Vector<const double> mass, Matrix<const std::uint8_t> in_x, double size_x,
         double size_y, Vector<double> out, int threads) {
        const anchorot::Moves moves{time.data(),    row.data(),   target.data(),  time.shape(0), start.data(),
                                    start.shape(0), place.data(), place.shape(0), begin,         end};
        const anchorot::Items items{item.data(), mass.data(), mass.shape(0)};
        const anchorot::Labels labels{in_x.data(), in_x.shape(0), in_x.shape(1), size_x, size_y};
        nb::gil_scoped_release release;
        anchorot::labelled_energies(moves, items, labels, out.data(), threads);
      },
      "time"_a, "row"_a, "target"_a, "start"_a, "place"_a, "begin"_a, "end"_a, "item"_a, "mass"_a, "in_x"_a,
      "size_x"_a, "size_y"_a, "out"_a, "threads"_a);
  m.def(
      "event_averages",
      [](const nb::tuple& events, double low, double high, Matrix<double> out) {
        const EventArrays x(events);
        const anchorot::CellGrid grid{out.shape(0), out.shape(1), low, high};
        nb::gil_scoped_release release;
        anchorot::event_averages(x.view(), grid, out.data());
      },
      "events"_a, "low"_a, "high"_a, "out"_a);
}
