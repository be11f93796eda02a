// The Python module anchorot._kernels._native. Arrays are checked in Python; this file releases the GIL while
// a kernel runs, and ends the kernel when a signal's handler raises (Ctrl-C).
#include <nanobind/nanobind.h>

#include <type_traits>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "records.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace anchorot::records;

namespace {

unsigned long main_thread = 0;  // the only one that runs handlers of signals

// Whether a handler has raised; Python keeps its error for this thread.
bool signal_raised() {
  nb::gil_scoped_acquire hold;
  return PyErr_CheckSignals() != 0;
}

// Run a kernel without the GIL.
template <class Kernel>
auto run(Kernel&& kernel) {
  try {
    const anchorot::Listening listening(PyThread_get_thread_ident() == main_thread ? signal_raised : nullptr);
    nb::gil_scoped_release release;
    return kernel();
  } catch (const anchorot::Interrupted&) {
    throw nb::python_error();  // what the handler raised
  }
}

// What a list holds, in the form that kernels read. Arrays of other numbers are left to the next overload: a copy of
// them would be written to in vain.
template <class Held>
std::vector<Held> each_of(const nb::list& list) {
  std::vector<Held> held;
  held.reserve(list.size());
  for (nb::handle each : list) {
    if constexpr (std::is_constructible_v<Held, nb::tuple>) {
      held.emplace_back(nb::cast<nb::tuple>(each));
    } else if (Held array; nb::try_cast<Held>(each, array, false)) {
      held.push_back(array);
    } else {
      throw nb::next_overload();
    }
  }
  return held;
}

// out[i][j] = compare(i, j) for i < counts[j], all of them in one call: between two calls threads would wait for the GIL.
template <class Compare>
void compare_all(Vector<const std::int64_t> counts, Matrix<double> out, Compare compare) {
  run([&] {
    for (std::size_t j = 0; j < counts.shape(0); ++j) {
      const auto count = static_cast<std::size_t>(counts.data()[j]);
      for (std::size_t i = 0; i < count; ++i) out.data()[i * counts.shape(0) + j] = compare(i, j);
    }
  });
}

// What is prepared of many spaces in one call.
template <class T>
void bind_spaces(nb::module_& m) {
  m.def(
      "space_levels",
      [](const nb::list& costs, const nb::list& out, Vector<bool> ordinary, int threads) {
        const auto held = each_of<Matrix<const T>>(costs);
        const auto levels = each_of<Matrix<T>>(out);
        std::vector<anchorot::SpaceCosts<T>> spaces;
        for (std::size_t s = 0; s < held.size(); ++s) {
          spaces.push_back({held[s].data(), levels[s].data(), held[s].shape(0)});
        }
        run([&] { anchorot::space_levels(spaces, ordinary.data(), threads); });
      },
      "costs"_a, "out"_a, "ordinary"_a, "threads"_a);
  m.def(
      "cloud_costs",
      [](const nb::list& points, const nb::list& out, Vector<bool> ordinary, int threads) {
        const auto held = each_of<Matrix<const double>>(points);
        const auto costs = each_of<Matrix<T>>(out);
        std::vector<anchorot::Cloud<T>> clouds;
        for (std::size_t c = 0; c < held.size(); ++c) clouds.push_back({points_of(held[c]), costs[c].data()});
        run([&] { anchorot::cloud_costs(clouds, ordinary.data(), threads); });
      },
      "points"_a, "out"_a, "ordinary"_a, "threads"_a);
}

template <class T>
void bind_levels(nb::module_& m) {
  m.def(
      "quantiles",
      [](Matrix<const T> matrix, Matrix<T> out, int threads) {
        run([&] { anchorot::quantiles(matrix.data(), out.data(), matrix.shape(0), matrix.shape(1), threads); });
      },
      "matrix"_a, "out"_a, "threads"_a);
  m.def(
      "sort_rows",
      [](Matrix<T> matrix, int threads) {
        run([&] { anchorot::sort_rows(matrix.data(), matrix.shape(0), matrix.shape(1), threads); });
      },
      "matrix"_a, "threads"_a);
  m.def(
      "level_energy",
      [](Matrix<const T> x, Matrix<const T> y, int threads) {
        return run([&] { return anchorot::level_energy(levels_of(x), levels_of(y), threads); });
      },
      "x"_a, "y"_a, "threads"_a);
  m.def(
      "level_energies",
      [](const nb::list& xs, const nb::list& ys, Vector<const std::int64_t> counts, Matrix<double> out) {
        const auto held_x = each_of<Matrix<const T>>(xs), held_y = each_of<Matrix<const T>>(ys);
        compare_all(counts, out, [&](std::size_t i, std::size_t j) {
          return anchorot::level_energy(levels_of(held_x[i]), levels_of(held_y[j]), 1);
        });
      },
      "xs"_a, "ys"_a, "counts"_a, "out"_a);
  m.def(
      "level_transport",
      [](Matrix<const T> x, Matrix<const T> y, int p, int threads) {
        return run([&] { return anchorot::level_transport(levels_of(x), levels_of(y), p, threads); });
      },
      "x"_a, "y"_a, "p"_a, "threads"_a);
  m.def(
      "level_transports",
      [](const nb::list& xs, const nb::list& ys, Vector<const std::int64_t> counts, int p, Matrix<double> out) {
        const auto held_x = each_of<Matrix<const T>>(xs), held_y = each_of<Matrix<const T>>(ys);
        run([&] {
          std::vector<anchorot::Levels<T>> levels_x, levels_y;
          for (const auto& each : held_x) levels_x.push_back(levels_of(each));
          for (const auto& each : held_y) levels_y.push_back(levels_of(each));
          anchorot::level_transports(levels_x, levels_y, counts.data(), p, out.data());
        });
      },
      "xs"_a, "ys"_a, "counts"_a, "p"_a, "out"_a);
  m.def(
      "level_averages",
      [](const nb::list& xs, const nb::tuple& grid, Stack<double> out, int threads) {
        const auto held = each_of<Matrix<const T>>(xs);
        std::vector<anchorot::Levels<T>> levels;
        for (const auto& each : held) levels.push_back(levels_of(each));
        const anchorot::GridSpec cells = grid_of(grid);
        run([&] { anchorot::level_averages(levels, cells, out.data(), threads); });
      },
      "xs"_a, "grid"_a, "out"_a, "threads"_a);
}

void bind_blocks(nb::module_& m) {
  m.def(
      "block_energies",
      [](const nb::tuple& x, const nb::tuple& y, Matrix<const std::int64_t> pairs, double max_cost, Vector<double> out,
         int threads) {
        const LevelBlockArrays blocks_x(x), blocks_y(y);
        run([&] {
          anchorot::block_energies(blocks_x.view(), blocks_y.view(), pairs_of(pairs), max_cost, out.data(), threads);
        });
      },
      "x"_a, "y"_a, "pairs"_a, "max_cost"_a, "out"_a, "threads"_a);
  m.def(
      "block_profile",
      [](const nb::tuple& x, const nb::tuple& y, Matrix<const std::int64_t> pairs, Vector<const double> max_costs,
         int power, Vector<double> out, int threads) {
        const LevelBlockArrays blocks_x(x), blocks_y(y);
        run([&] {
          anchorot::block_profile(blocks_x.view(), blocks_y.view(), pairs_of(pairs), max_costs_of(max_costs), power,
                                  out.data(), threads);
        });
      },
      "x"_a, "y"_a, "pairs"_a, "max_costs"_a, "power"_a, "out"_a, "threads"_a);
}

void bind_vectors(nb::module_& m) {
  m.def(
      "vector_profile",
      [](const nb::tuple& x, const nb::tuple& y, Vector<const double> max_costs, Vector<double> out, int threads) {
        const VectorLevelArrays levels_x(x), levels_y(y);
        run([&] {
          anchorot::vector_profile(levels_x.view(), levels_y.view(), max_costs_of(max_costs), out.data(), threads);
        });
      },
      "x"_a, "y"_a, "max_costs"_a, "out"_a, "threads"_a);
}

void bind_weighted_levels(nb::module_& m) {
  m.def(
      "weighted_gaps",
      [](const nb::tuple& x, const nb::tuple& y, int power, double max_cost, int threads) {
        const WeightedLevelArrays levels_x(x), levels_y(y);
        return run([&] { return anchorot::weighted_gaps(levels_x.view(), levels_y.view(), power, max_cost, threads); });
      },
      "x"_a, "y"_a, "power"_a, "max_cost"_a, "threads"_a);
  m.def(
      "weighted_gaps_of_pairs",
      [](const nb::list& xs, const nb::list& ys, Vector<const std::int64_t> counts, int power, double max_cost,
         Matrix<double> out) {
        const auto held_x = each_of<WeightedLevelArrays>(xs), held_y = each_of<WeightedLevelArrays>(ys);
        compare_all(counts, out, [&](std::size_t i, std::size_t j) {
          return anchorot::weighted_gaps(held_x[i].view(), held_y[j].view(), power, max_cost, 1);
        });
      },
      "xs"_a, "ys"_a, "counts"_a, "power"_a, "max_cost"_a, "out"_a);
  m.def(
      "weighted_transport",
      [](const nb::tuple& x, const nb::tuple& y, int threads) {
        const WeightedLevelArrays levels_x(x), levels_y(y);
        return run([&] { return anchorot::weighted_transport(levels_x.view(), levels_y.view(), threads); });
      },
      "x"_a, "y"_a, "threads"_a);
}

void bind_crystals(nb::module_& m) {
  m.def(
      "periodic_distances",
      [](Matrix<const double> cell, Matrix<const double> fraction, Vector<const std::uint32_t> kind,
         std::size_t species, std::size_t k, Matrix<double> out) {
        const anchorot::Crystal crystal{cell.data(), fraction.data(), kind.data(), fraction.shape(0), species};
        run([&] { anchorot::periodic_distances(crystal, k, out.data()); });
      },
      "cell"_a, "fraction"_a, "kind"_a, "species"_a, "k"_a, "out"_a);
}

void bind_costs(nb::module_& m) {
  m.def(
      "euclidean",
      [](Matrix<const double> x, Matrix<const double> y, Matrix<double> out) {
        run([&] { anchorot::euclidean(points_of(x), points_of(y), out.data()); });
      },
      "x"_a, "y"_a, "out"_a);
  m.def(
      "l1_costs",
      [](Matrix<const double> x, Matrix<const double> y, const nb::tuple& segments, Matrix<double> out, int threads) {
        const SegmentArrays arrays(segments);
        run([&] {
          anchorot::l1_costs(x.data(), x.shape(1), y.data(), y.shape(1), arrays.view(), out.data(), threads);
        });
      },
      "x"_a, "y"_a, "segments"_a, "out"_a, "threads"_a);
  m.def(
      "step_costs",
      [](const nb::tuple& x, const nb::tuple& y, int p, Matrix<double> out, int threads) {
        const StepRowArrays rows_x(x), rows_y(y);
        run([&] { anchorot::step_costs(rows_x.view(), rows_y.view(), p, out.data(), threads); });
      },
      "x"_a, "y"_a, "p"_a, "out"_a, "threads"_a);
}

void bind_plans(nb::module_& m) {
  m.def(
      "level_shares",
      [](Matrix<const double> cost, bool split_ties, Matrix<double> out) {
        run([&] { anchorot::level_shares(cost.data(), cost.shape(0), split_ties, out.data()); });
      },
      "cost"_a, "split_ties"_a, "out"_a);
  m.def(
      "share_product",
      [](const nb::tuple& x, const nb::tuple& y, Matrix<double> out, int threads) {
        const ShareStepArrays steps_x(x), steps_y(y);
        run([&] {
          anchorot::share_product(steps_x.view(), out.shape(0), steps_y.view(), out.shape(1), out.data(), threads);
        });
      },
      "x"_a, "y"_a, "out"_a, "threads"_a);
}

void bind_networks(nb::module_& m) {
  m.def(
      "multiply_left",
      [](const nb::tuple& a, Matrix<const float> x, Matrix<float> out, int threads) {
        const SparseArrays rows(a);
        run([&] { anchorot::multiply_left(rows.view(), x.data(), x.shape(1), out.data(), threads); });
      },
      "a"_a, "x"_a, "out"_a, "threads"_a);
  m.def(
      "multiply_right",
      [](Matrix<const float> x, const nb::tuple& transposed, Matrix<float> out, int threads) {
        const SparseArrays rows(transposed);
        run([&] {
          anchorot::multiply_right(x.data(), x.shape(0), x.shape(1), rows.view(), out.data(), threads);
        });
      },
      "x"_a, "transposed"_a, "out"_a, "threads"_a);
  m.def(
      "tilt_plan",
      [](Matrix<float> plan, Matrix<const float> slope, float rate, Vector<const float> copies, int rounds,
         int threads) {
        run([&] {
          anchorot::tilt_plan(plan.data(), slope.data(), plan.shape(0), plan.shape(1), rate, copies.data(), rounds,
                              threads);
        });
      },
      "plan"_a, "slope"_a, "rate"_a, "copies"_a, "rounds"_a, "threads"_a);
  m.def(
      "spread",
      [](Matrix<const float> matrix, int threads) {
        return run([&] { return anchorot::spread(matrix.data(), matrix.shape(0), matrix.shape(1), threads); });
      },
      "matrix"_a, "threads"_a);
  m.def(
      "pass_messages",
      [](const nb::tuple& first, const nb::tuple& second, Matrix<const float> ratios, Matrix<const float> plan,
         Matrix<const float> free_ends, Matrix<float> next_free_ends, Matrix<float> evidence, int rounds,
         int threads) {
        const EdgeArrays edges(first);
        const LaneArrays lanes(second);
        const anchorot::MessageTask task{edges.view(),     lanes.view(),          plan.data(),     plan.shape(1),
                                         ratios.data(),    ratios.shape(1),       free_ends.data(), next_free_ends.data(),
                                         evidence.data(), rounds};
        run([&] { anchorot::pass_messages(task, edges.nodes(), threads); });
      },
      "first"_a, "second"_a, "ratios"_a, "plan"_a, "free_ends"_a, "next_free_ends"_a, "evidence"_a, "rounds"_a,
      "threads"_a);
}

void bind_pair_links(nb::module_& m) {
  m.def(
      "count_links",
      [](const nb::tuple& first, const nb::tuple& second, const nb::tuple& pairs, Vector<std::int64_t> counts,
         int threads) {
        const EdgeArrays x(first), y(second);
        const PairArrays rows(pairs);
        run([&] { anchorot::count_links(x.view(), y.view(), rows.view(), counts.data(), threads); });
      },
      "first"_a, "second"_a, "pairs"_a, "counts"_a, "threads"_a);
  m.def(
      "link_pairs",
      [](const nb::tuple& first, const nb::tuple& second, const nb::tuple& pairs, const nb::tuple& out, int threads) {
        const EdgeArrays x(first), y(second);
        const PairArrays rows(pairs);
        const LinkArrays links(out);
        run([&] { anchorot::link_pairs(x.view(), y.view(), rows.view(), links.view(), threads); });
      },
      "first"_a, "second"_a, "pairs"_a, "out"_a, "threads"_a);
  m.def(
      "pass_pair_messages",
      [](const nb::tuple& first, const nb::tuple& second, const nb::tuple& pairs, const nb::tuple& links,
         Matrix<const float> ratios, Vector<const float> plan, Vector<const float> free_ends,
         Vector<float> next_free_ends, Vector<float> evidence, int rounds, int threads) {
        const EdgeArrays x(first), y(second);
        const PairArrays rows(pairs);
        const LinkArrays own(links);
        const anchorot::PairMessageTask task{x.view(),      y.view(),        rows.view(),      own.view(),
                                             plan.data(),   ratios.data(),   ratios.shape(1),  free_ends.data(),
                                             next_free_ends.data(), evidence.data(), rounds};
        run([&] { anchorot::pass_pair_messages(task, threads); });
      },
      "first"_a, "second"_a, "pairs"_a, "links"_a, "ratios"_a, "plan"_a, "free_ends"_a, "next_free_ends"_a,
      "evidence"_a, "rounds"_a, "threads"_a);
}

void bind_events(nb::module_& m) {
  m.def(
      "argsort",
      [](Vector<const double> values, Vector<double> sorted, Vector<std::int64_t> order, int threads) {
        run([&] { anchorot::argsort(values.data(), values.shape(0), sorted.data(), order.data(), threads); });
      },
      "values"_a, "sorted"_a, "order"_a, "threads"_a);
  m.def(
      "cost_events",
      [](Matrix<const double> cost, Vector<const std::int64_t> jumps, Vector<double> position,
         Vector<std::uint32_t> row, Vector<std::int64_t> jump, int threads) {
        run([&] {
          anchorot::cost_events(cost.data(), cost.shape(0), cost.shape(1), jumps.data(), position.data(), row.data(),
                                jump.data(), threads);
        });
      },
      "cost"_a, "jumps"_a, "position"_a, "row"_a, "jump"_a, "threads"_a);
  m.def(
      "sweep_energy",
      [](const nb::tuple& x, const nb::tuple& y, int threads) {
        const EventArrays events_x(x), events_y(y);
        return run([&] { return anchorot::sweep_energy(events_x.view(), events_y.view(), threads); });
      },
      "x"_a, "y"_a, "threads"_a);
  m.def(
      "sweep_energies",
      [](const nb::list& xs, const nb::list& ys, Vector<const std::int64_t> counts, Matrix<double> out) {
        const auto held_x = each_of<EventArrays>(xs), held_y = each_of<EventArrays>(ys);
        compare_all(counts, out, [&](std::size_t i, std::size_t j) {
          return anchorot::sweep_energy(held_x[i].view(), held_y[j].view(), 1);
        });
      },
      "xs"_a, "ys"_a, "counts"_a, "out"_a);
  m.def(
      "sweep_transport",
      [](const nb::tuple& x, const nb::tuple& y, int threads) {
        const EventArrays events_x(x), events_y(y);
        return run([&] { return anchorot::sweep_transport(events_x.view(), events_y.view(), threads); });
      },
      "x"_a, "y"_a, "threads"_a);
  m.def(
      "sweep_transports",
      [](const nb::list& xs, const nb::list& ys, Vector<const std::int64_t> counts, Matrix<double> out) {
        const auto held_x = each_of<EventArrays>(xs), held_y = each_of<EventArrays>(ys);
        compare_all(counts, out, [&](std::size_t i, std::size_t j) {
          return anchorot::sweep_transport(held_x[i].view(), held_y[j].view(), 1);
        });
      },
      "xs"_a, "ys"_a, "counts"_a, "out"_a);
  m.def(
      "level_sweep_transport",
      [](const nb::tuple& x, Vector<const double> mass_x, const nb::tuple& y, Vector<const double> mass_y) {
        const LevelMoveArrays moves_x(x, mass_x), moves_y(y, mass_y);
        return run([&] { return anchorot::level_sweep_transport(moves_x.view(), moves_y.view()); });
      },
      "x"_a, "mass_x"_a, "y"_a, "mass_y"_a);
  m.def(
      "quantile_averages",
      [](const nb::tuple& x, Vector<const double> mass, Matrix<double> out) {
        const LevelMoveArrays moves(x, mass);
        run([&] { anchorot::quantile_averages(moves.view(), out.shape(0), out.shape(1), out.data()); });
      },
      "x"_a, "mass"_a, "out"_a);
  m.def(
      "sweep_profile",
      [](const nb::tuple& x, const nb::tuple& y, Vector<const double> max_costs, int power, Vector<double> out,
         int threads) {
        const EventArrays events_x(x), events_y(y);
        run([&] {
          anchorot::sweep_profile(events_x.view(), events_y.view(), max_costs_of(max_costs), power, out.data(),
                                  threads);
        });
      },
      "x"_a, "y"_a, "max_costs"_a, "power"_a, "out"_a, "threads"_a);
  m.def(
      "event_averages",
      [](const nb::tuple& events, const nb::tuple& grid, Matrix<double> out) {
        const EventArrays x(events);
        const anchorot::GridSpec cells = grid_of(grid);
        run([&] { anchorot::event_averages(x.view(), cells, out.data()); });
      },
      "events"_a, "grid"_a, "out"_a);
}

void bind_labels(nb::module_& m) {
  m.def(
      "labelled_energies",
      [](const nb::tuple& moves, const nb::tuple& items, Matrix<const std::uint8_t> in_x, Vector<double> out,
         int threads) {
        const PlaceMoveArrays places(moves);
        const RowItemArrays rows(items);
        const anchorot::Labels labels{in_x.data(), in_x.shape(0), in_x.shape(1)};
        run([&] { anchorot::labelled_energies(places.view(), rows.view(), labels, out.data(), threads); });
      },
      "moves"_a, "items"_a, "in_x"_a, "out"_a, "threads"_a);
  m.def(
      "labelled_steps",
      [](const nb::tuple& moves) {
        const PlaceMoveArrays places(moves);
        return run([&] { return anchorot::labelled_steps(places.view()); });
      },
      "moves"_a);
}

void bind_factors(nb::module_& m) {
  m.def(
      "factor_tree",
      [](const nb::tuple& matrix, Vector<std::int32_t> parent, Vector<std::int64_t> counts) {
        const LowerRowArrays a(matrix);
        run([&] { anchorot::factor_tree(a.view(), parent.data(), counts.data()); });
      },
      "matrix"_a, "parent"_a, "counts"_a);
  m.def(
      "factorise",
      [](const nb::tuple& matrix, Vector<const std::int32_t> parent, const nb::tuple& out) {
        const LowerRowArrays a(matrix);
        const FactorArrays factor(out);
        run([&] { anchorot::factorise(a.view(), parent.data(), factor.view()); });
      },
      "matrix"_a, "parent"_a, "out"_a);
  m.def(
      "substitute",
      [](const nb::tuple& factor, Matrix<double> x) {
        const FactorArrays f(factor);
        run([&] { anchorot::substitute(f.view(), x.data(), x.shape(1)); });
      },
      "factor"_a, "x"_a);
}

}  // namespace

NB_MODULE(_native, m) {
  const nb::object thread = nb::module_::import_("threading").attr("main_thread")();
  main_thread = nb::cast<unsigned long>(thread.attr("ident"));
  m.def("simd_level", &anchorot::simd_level);
  bind_levels<double>(m);
  bind_levels<float>(m);
  bind_spaces<double>(m);
  bind_spaces<float>(m);
  bind_blocks(m);
  bind_vectors(m);
  bind_weighted_levels(m);
  bind_crystals(m);
  bind_costs(m);
  bind_plans(m);
  bind_networks(m);
  bind_pair_links(m);
  bind_events(m);
  bind_labels(m);
  bind_factors(m);
}
