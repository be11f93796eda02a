// Distances in a crystal: from every atom of the cell to its k nearest of each species, over all periodic images.
//
// The cell is reduced first, so that its heights h_a are not much smaller than its edges. A point with fractional
// coordinates f is at least |f_a| h_a away, so all points within a radius R have |f_a| <= R / h_a. R is guessed from
// the density, in space, in the densest plane or on the densest line; where fewer than k atoms are inside, it grows.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"

namespace anchorot {
namespace {

using Vector3 = std::array<double, 3>;
using Matrix3 = std::array<Vector3, 3>;  // rows

constexpr double kPi = 3.14159265358979323846;
constexpr double kMoreAtoms = 1.3;    // than k are expected within the first radius
constexpr double kGrowth = 1.26;      // of a radius that is too small: twice the volume
constexpr double kSlack = 1e-9;       // of a cell, more than rounding
constexpr int kMostRounds = 10'000;   // of the reduction, which needs about as many as the skewness has digits
constexpr double kShorter = 1 - 1e-12;  // a vector counts as shorter below this share of its square

double dot(const Vector3& u, const Vector3& v) { return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]; }
Vector3 cross(const Vector3& u, const Vector3& v) {
  return {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
}
Vector3 plus(const Vector3& u, double c, const Vector3& v) { return {u[0] + c * v[0], u[1] + c * v[1], u[2] + c * v[2]}; }

// A basis of the same lattice, and what fractional coordinates in it are: those in the first basis times `change`.
struct Reduced {
  Matrix3 cell, change;
};

// Edge a becomes a + c b, so that coordinate b becomes that less c times coordinate a.
void add_edge(Reduced& r, std::size_t a, double c, std::size_t b) {
  r.cell[a] = plus(r.cell[a], c, r.cell[b]);
  for (auto& row : r.change) row[b] -= c * row[a];
}

// Subtract from each edge what shortens it: multiples of another edge, then sums of both others (as Minkowski's
// conditions ask). The result has angles near 90 degrees; that neighbours are found rests on the heights alone.
Reduced reduced(const Matrix3& cell) {
  Reduced r{cell, {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}};
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t b = 0; b < 3; ++b) {
        if (a == b) continue;
        const double c = -std::nearbyint(dot(r.cell[a], r.cell[b]) / dot(r.cell[b], r.cell[b]));
        const Vector3 shorter = plus(r.cell[a], c, r.cell[b]);
        if (c == 0 || !(dot(shorter, shorter) < kShorter * dot(r.cell[a], r.cell[a]))) continue;
        add_edge(r, a, c, b);
        changed = true;
      }
    }
    for (std::size_t a = 0; a < 3 && !changed; ++a) {
      const std::size_t b = (a + 1) % 3, c = (a + 2) % 3;
      for (const double sign_b : {-1.0, 1.0}) {
        for (const double sign_c : {-1.0, 1.0}) {
          const Vector3 other = plus(plus(r.cell[a], sign_b, r.cell[b]), sign_c, r.cell[c]);
          if (changed || !(dot(other, other) < kShorter * dot(r.cell[a], r.cell[a]))) continue;
          add_edge(r, a, sign_b, b);
          add_edge(r, a, sign_c, c);
          changed = true;
        }
      }
    }
    if (!changed) break;
  }
  return r;
}

// Atoms of one crystal in a reduced cell.
struct Atoms {
  Matrix3 cell;
  Vector3 height;  // of the cell over each of its faces
  double volume;
  std::vector<Vector3> fraction;  // in [0, 1)
};

Atoms atoms_of(const Crystal& crystal) {
  Matrix3 cell;
  for (std::size_t a = 0; a < 3; ++a) std::copy_n(crystal.cell + 3 * a, 3, cell[a].begin());
  const Reduced r = reduced(cell);
  Atoms atoms{r.cell, {}, std::fabs(dot(r.cell[0], cross(r.cell[1], r.cell[2]))), {}};
  for (std::size_t a = 0; a < 3; ++a) {
    const Vector3 face = cross(r.cell[(a + 1) % 3], r.cell[(a + 2) % 3]);
    atoms.height[a] = atoms.volume / std::sqrt(dot(face, face));
  }
  atoms.fraction.resize(crystal.count);
  for (std::size_t i = 0; i < crystal.count; ++i) {
    const double* f = crystal.fraction + 3 * i;
    const Vector3 inside{f[0] - std::floor(f[0]), f[1] - std::floor(f[1]), f[2] - std::floor(f[2])};
    for (std::size_t b = 0; b < 3; ++b) {
      const double g = inside[0] * r.change[0][b] + inside[1] * r.change[1][b] + inside[2] * r.change[2][b];
      atoms.fraction[i][b] = g - std::floor(g);
    }
  }
  return atoms;
}

// Appends the squared distances up to `radius` from atom i to all images of atom j but itself.
void add_images(const Atoms& atoms, std::size_t i, std::size_t j, double radius, std::vector<double>& squares) {
  Vector3 gap, first, last;
  for (std::size_t a = 0; a < 3; ++a) {
    gap[a] = atoms.fraction[j][a] - atoms.fraction[i][a];
    const double reach = radius / atoms.height[a] + kSlack;
    first[a] = std::ceil(-reach - gap[a]);
    last[a] = std::floor(reach - gap[a]);
  }
  const double most = radius * radius, edge = dot(atoms.cell[2], atoms.cell[2]);
  for (double t = first[0]; t <= last[0]; ++t) {
    const Vector3 along{(gap[0] + t) * atoms.cell[0][0], (gap[0] + t) * atoms.cell[0][1], (gap[0] + t) * atoms.cell[0][2]};
    for (double u = first[1]; u <= last[1]; ++u) {
      const Vector3 line = plus(along, gap[1] + u, atoms.cell[1]);
      // On the line: the images within the radius, and one more on either side
      const double nearest = -dot(line, atoms.cell[2]) / edge;
      const double rest = most - dot(line, line) + nearest * nearest * edge;
      const double half = rest > 0 ? std::sqrt(rest / edge) : 0.0;
      const double from = std::max(first[2], std::floor(nearest - half - gap[2]));
      const double to = std::min(last[2], std::ceil(nearest + half - gap[2]));
      for (double v = from; v <= to; ++v) {
        const Vector3 place = plus(line, gap[2] + v, atoms.cell[2]);
        const double square = dot(place, place);
        if (square > most || (i == j && t == 0 && u == 0 && v == 0)) continue;
        squares.push_back(square);
      }
    }
  }
}

// About the radius that holds `count` points, with `each` per cell: the least of the estimates by their density in space,
// in a face of the cell and along an edge, so that flat and long cells need few images too.
double first_radius(const Atoms& atoms, double count, double each) {
  double face = 0, edge = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    const double area = atoms.volume / atoms.height[a], length = std::sqrt(dot(atoms.cell[a], atoms.cell[a]));
    face = a == 0 ? area : std::min(face, area);
    edge = a == 0 ? length : std::min(edge, length);
  }
  const double space = std::cbrt(0.75 / kPi * count * atoms.volume / each);
  return std::min({space, std::sqrt(count * face / (each * kPi)), 0.5 * count * edge / each});
}

}  // namespace

void periodic_distances(const Crystal& crystal, std::size_t k, double* out) {
  const Atoms atoms = atoms_of(crystal);
  std::vector<std::vector<std::size_t>> members(crystal.species);
  for (std::size_t j = 0; j < crystal.count; ++j) members[crystal.kind[j]].push_back(j);
  std::vector<double> radius;
  for (const auto& some : members) {
    radius.push_back(first_radius(atoms, kMoreAtoms * static_cast<double>(k + 1), static_cast<double>(some.size())));
  }
  const std::size_t rows = crystal.count * crystal.species;
  std::vector<std::vector<double>> found(rows);
  std::size_t length = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    check_interrupt();
    const std::size_t i = row / crystal.species, s = row % crystal.species;
    for (double reach = radius[s]; found[row].size() < k; reach *= kGrowth) {
      found[row].clear();
      for (const std::size_t j : members[s]) add_images(atoms, i, j, reach, found[row]);
    }
    length = std::max(length, found[row].size());
  }
  std::vector<double> squares(rows * length, std::numeric_limits<double>::infinity());
  for (std::size_t row = 0; row < rows; ++row) std::copy(found[row].begin(), found[row].end(), &squares[row * length]);
  sort_rows(squares.data(), rows, length, 1);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t r = 0; r < k; ++r) out[row * k + r] = std::sqrt(squares[row * length + r]);
  }
}

}  // namespace anchorot
