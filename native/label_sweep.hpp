// The energy of one pool of measures under kLabelLanes labellings at once, over a stretch of moves; see labelled.cpp.
#pragma once

#include <cstddef>

#include "portable.hpp"
#include "simd.hpp"
#include "simd_kernels.hpp"

namespace ANCHOROT_ISA {
namespace {

using anchorot::kLabelLanes;

// One number for every labelling.
struct Lanes {
  static constexpr std::size_t kWidth = sizeof(VecF64) / sizeof(double);
  static constexpr std::size_t kParts = kLabelLanes / kWidth;
  VecF64 part[kParts];

  static Lanes fill(double x) {
    Lanes r;
    for (std::size_t i = 0; i < kParts; ++i) r.part[i] = VecF64::fill(x);
    return r;
  }
  static Lanes load(const double* p) {
    Lanes r;
    for (std::size_t i = 0; i < kParts; ++i) r.part[i] = VecF64::load(p + i * kWidth);
    return r;
  }
  void store(double* p) const {
    for (std::size_t i = 0; i < kParts; ++i) part[i].store(p + i * kWidth);
  }
  friend Lanes operator+(Lanes a, const Lanes& b) {
    for (std::size_t i = 0; i < kParts; ++i) a.part[i] = VecF64::add(a.part[i], b.part[i]);
    return a;
  }
  friend Lanes operator-(Lanes a, const Lanes& b) {
    for (std::size_t i = 0; i < kParts; ++i) a.part[i] = VecF64::sub(a.part[i], b.part[i]);
    return a;
  }
  friend Lanes operator*(Lanes a, const Lanes& b) {
    for (std::size_t i = 0; i < kParts; ++i) a.part[i] = VecF64::mul(a.part[i], b.part[i]);
    return a;
  }
  friend Lanes operator*(double x, const Lanes& a) { return fill(x) * a; }
  Lanes nonnegative() const {
    Lanes r;
    for (std::size_t i = 0; i < kParts; ++i) r.part[i] = VecF64::max(part[i], VecF64::fill(0));
    return r;
  }
};

void add_at(double* place, const Lanes& what) { (Lanes::load(place) + what).store(place); }

// The signed mass that each labelling has at every place of a stretch.
class MassesAt {
 public:
  MassesAt(const anchorot::LabelStretch& stretch, const double* signed_mass, double* memory)
      : stretch_(stretch), memory_(memory) {
    for (std::size_t k = 0; k < stretch.places * kLabelLanes; ++k) memory[k] = 0;
    for (std::size_t r = 0; r < stretch.rows; ++r) add(stretch.start[r], Lanes::load(signed_mass + r * kLabelLanes));
  }

  void add(std::size_t number, const Lanes& mass) { add_at(memory_ + number * kLabelLanes, mass); }
  Lanes at(std::size_t number) const { return Lanes::load(memory_ + number * kLabelLanes); }

  // integral of D^2 over places, as a sum of squares
  Lanes energy() const {
    Lanes sum = Lanes::fill(0), d = Lanes::fill(0);
    for (std::size_t v = 0; v < stretch_.places; ++v) {
      d = d + at(v);
      sum = sum + stretch_.step[v] * (d * d);
    }
    return sum;
  }

 private:
  const anchorot::LabelStretch& stretch_;
  double* memory_;
};

// D from every place to the next.
class HeightsAt {
 public:
  // In the memory of the masses, which it takes the place of.
  HeightsAt(const anchorot::LabelStretch& stretch, const MassesAt& masses, double* memory)
      : stretch_(stretch), memory_(memory) {
    Lanes d = Lanes::fill(0);
    for (std::size_t v = 0; v < stretch.places; ++v) {
      d = d + masses.at(v);
      d.store(memory + v * kLabelLanes);
    }
  }

  // integral of D^2 over places, as a sum of squares
  Lanes energy() const {
    Lanes sum = Lanes::fill(0);
    for (std::size_t v = 0; v < stretch_.places; ++v) {
      const Lanes d = Lanes::load(memory_ + v * kLabelLanes);
      sum = sum + stretch_.step[v] * (d * d);
    }
    return sum;
  }

  // D grows by `mass` from place `begin` to place `end`; returns by how much the energy does.
  Lanes raise(std::size_t begin, std::size_t end, const Lanes& mass) {
    Lanes area = Lanes::fill(0);  // integral of D before
    for (std::size_t v = begin; v < end; ++v) {
      const Lanes d = Lanes::load(memory_ + v * kLabelLanes);
      area = area + stretch_.step[v] * d;
      (d + mass).store(memory_ + v * kLabelLanes);
    }
    return mass * ((stretch_.place[end] - stretch_.place[begin]) * mass + (area + area));
  }

 private:
  const anchorot::LabelStretch& stretch_;
  double* memory_;
};

// The primitive of D, from a Fenwick tree of masses and first moments over the places.
class PrimitiveTree {
 public:
  PrimitiveTree(const anchorot::LabelStretch& stretch, const MassesAt& masses, double* memory)
      : stretch_(stretch), nodes_(memory) {
    for (std::size_t k = 0; k < (stretch.places + 1) * kNode; ++k) memory[k] = 0;
    for (std::size_t k = 1; k <= stretch.places; ++k) {
      const Lanes mass = masses.at(k - 1);
      add_to(k, mass, stretch.place[k - 1] * mass);
      const std::size_t above = k + (k & (~k + 1));
      if (above <= stretch.places) {
        add_to(above, Lanes::load(nodes_ + k * kNode), Lanes::load(nodes_ + k * kNode + kLabelLanes));
      }
    }
  }

  void add(std::size_t number, const Lanes& mass) {
    const Lanes moment = stretch_.place[number] * mass;
    for (std::size_t k = number + 1; k <= stretch_.places; k += k & (~k + 1)) add_to(k, mass, moment);
  }

  // integral of D up to a place z: sum of s (z - z_s) over the masses s below, at places z_s
  Lanes up_to(std::size_t number) const {
    Lanes mass = Lanes::fill(0), moment = Lanes::fill(0);
    for (std::size_t k = number + 1; k > 0; k -= k & (~k + 1)) {
      mass = mass + Lanes::load(nodes_ + k * kNode);
      moment = moment + Lanes::load(nodes_ + k * kNode + kLabelLanes);
    }
    return stretch_.place[number] * mass - moment;
  }

 private:
  static constexpr std::size_t kNode = 2 * kLabelLanes;
  void add_to(std::size_t k, const Lanes& mass, const Lanes& moment) {
    add_at(nodes_ + k * kNode, mass);
    add_at(nodes_ + k * kNode + kLabelLanes, moment);
  }
  const anchorot::LabelStretch& stretch_;
  double* nodes_;
};

constexpr double kLongGap = 64;         // a gap is long from this part of the way so far on
constexpr std::size_t kRowsAhead = 8;  // rows whose masses are fetched ahead

// Adds up gap * energy; at_moment(begin, end, afresh) makes the moves from `begin` to `end` and returns the energy.
template <class AtMoment>
void integrate(const anchorot::LabelStretch& stretch, double* integral, AtMoment at_moment) {
  for (std::size_t g = 0; g < stretch.group_count; ++g) {
    const bool last = g + 1 == stretch.group_count;
    const double here = stretch.groups[g].time;
    const double next = last ? stretch.next : stretch.groups[g + 1].time;
    const std::size_t begin = g == 0 ? 0 : stretch.groups[g - 1].end;
    // What rounding leaves of updates must not meet a gap that is long compared with the whole way so far.
    const bool afresh = last || (next - here) * kLongGap > next - stretch.first;
    add_at(integral, (next - here) * at_moment(begin, stretch.groups[g].end, afresh).nonnegative());
  }
}

void fetch(const double* masses) {
  anchorot::portable::prefetch(masses);
  anchorot::portable::prefetch(masses + kLabelLanes / 2);
}

// integral of D^2 over places, row by row
Lanes energy_in_order(const anchorot::LabelStretch& stretch, const double* signed_mass) {
  Lanes sum = Lanes::fill(0), d = Lanes::fill(0);
  for (std::size_t k = 0; k < stretch.rows; ++k) {
    if (k + kRowsAhead < stretch.rows) fetch(signed_mass + stretch.order[k + kRowsAhead] * kLabelLanes);
    d = d + Lanes::load(signed_mass + stretch.order[k] * kLabelLanes);
    sum = sum + stretch.step[k] * (d * d);
  }
  return sum;
}

void pass_places(const anchorot::LabelStretch& stretch, const MassesAt& masses, const double* signed_mass,
                 double* scratch, double* integral) {
  HeightsAt heights(stretch, masses, scratch);
  Lanes energy = heights.energy();
  const std::size_t moves = stretch.groups[stretch.group_count - 1].end;
  integrate(stretch, integral, [&](std::size_t begin, std::size_t end, bool afresh) {
    for (std::size_t k = begin; k < end; ++k) {
      if (k + kRowsAhead < moves) fetch(signed_mass + stretch.moves[k + kRowsAhead].row * kLabelLanes);
      const anchorot::LabelMove move = stretch.moves[k];
      const Lanes mass = Lanes::load(signed_mass + move.row * kLabelLanes);
      const bool up = move.from < move.to;  // then the mass is missing between
      energy = energy + (up ? heights.raise(move.from, move.to, Lanes::fill(0) - mass)
                            : heights.raise(move.to, move.from, mass));
    }
    if (afresh) energy = heights.energy();
    return energy;
  });
}

void sweep_labels(const anchorot::LabelStretch& stretch, const double* signed_mass, double* scratch,
                  double* integral) {
  if (stretch.order != nullptr) {
    add_at(integral, (stretch.next - stretch.groups[0].time) * energy_in_order(stretch, signed_mass));
    return;
  }
  MassesAt masses(stretch, signed_mass, scratch);
  if (stretch.way == anchorot::LabelWay::kPassing) return pass_places(stretch, masses, signed_mass, scratch, integral);
  auto mass_of = [&](const anchorot::LabelMove& move) { return Lanes::load(signed_mass + move.row * kLabelLanes); };
  auto shift = [&](const anchorot::LabelMove& move, const Lanes& mass) {
    masses.add(move.from, Lanes::fill(0) - mass);
    masses.add(move.to, mass);
  };
  if (stretch.way == anchorot::LabelWay::kAfresh) {
    integrate(stretch, integral, [&](std::size_t begin, std::size_t end, bool) {
      for (std::size_t k = begin; k < end; ++k) shift(stretch.moves[k], mass_of(stretch.moves[k]));
      return masses.energy();
    });
    return;
  }
  PrimitiveTree tree(stretch, masses, scratch + stretch.places * kLabelLanes);
  Lanes energy = masses.energy();
  integrate(stretch, integral, [&](std::size_t begin, std::size_t end, bool afresh) {
    for (std::size_t k = begin; k < end; ++k) {
      const anchorot::LabelMove move = stretch.moves[k];
      const Lanes mass = mass_of(move);
      const Lanes area = tree.up_to(move.to) - tree.up_to(move.from);  // integral of D over the way up
      const double way = stretch.place[move.to] - stretch.place[move.from];
      energy = energy + mass * (way * mass - (area + area));
      tree.add(move.from, Lanes::fill(0) - mass);
      tree.add(move.to, mass);
      shift(move, mass);
    }
    if (afresh) energy = masses.energy();
    return energy;
  });
}

}  // namespace
}  // namespace ANCHOROT_ISA
