// Prints the results of kernels, to the last bit, on made-up input: the same on every processor (nox -s aarch64).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "../../native/kernels.hpp"

namespace {

// splitmix64; one number in eight is a zero, of either sign
double made_number() {
  static std::uint64_t state = 1;
  std::uint64_t z = (state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  z ^= z >> 31;
  if (z % 8 == 0) return z % 16 == 0 ? 0.0 : -0.0;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

template <class T>
std::vector<T> made(std::size_t count) {
  std::vector<T> numbers(count);
  for (T& x : numbers) x = static_cast<T>(made_number());
  return numbers;
}

// FNV-1a of the bytes
template <class T>
void print(const char* name, const std::vector<T>& result) {
  std::vector<unsigned char> bytes(result.size() * sizeof(T));
  std::memcpy(bytes.data(), result.data(), bytes.size());
  std::uint64_t hash = 14695981039346656037u;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  std::printf("%s %016llx\n", name, static_cast<unsigned long long>(hash));
}

template <class T>
std::vector<T> sorted_levels(std::size_t rows, std::size_t levels) {
  const std::vector<T> matrix = made<T>(rows * levels);
  std::vector<T> out(matrix.size());
  anchorot::quantiles(matrix.data(), out.data(), rows, levels, 2);
  anchorot::sort_rows(out.data(), levels, rows, 2);
  return out;
}

template <class T>
void print_levels(std::size_t n, std::size_t levels) {
  const std::vector<T> x = sorted_levels<T>(n, levels), y = sorted_levels<T>(n + 3, levels);
  print("quantiles", x);
  const anchorot::Levels<T> of_x{x.data(), levels, n}, of_y{y.data(), levels, n + 3};
  for (const int p : {1, 2}) {
    print("level_transport", std::vector<double>{anchorot::level_transport(of_x, of_y, p, 2),
                                                 anchorot::level_transport(of_x, {x.data() + 1, levels, n}, p, 2)});
  }
  print("level_energy", std::vector<double>{anchorot::level_energy(of_x, of_y, 2)});
}

// Distances within two clouds, their levels, and averages of these over cells.
template <class T>
void print_spaces(std::size_t n) {
  const std::vector<double> points = made<double>(2 * n * 3);
  std::vector<T> cost(2 * n * n), levels(2 * n * n);
  bool ordinary[2];
  anchorot::cloud_costs<T>({{{points.data(), n, 3}, cost.data()}, {{points.data() + 3 * n, n, 3}, cost.data() + n * n}},
                           ordinary, 2);
  print("cloud_costs", cost);
  anchorot::space_levels<T>({{cost.data(), levels.data(), n}, {cost.data() + n * n, levels.data() + n * n, n}}, ordinary,
                            2);
  print("space_levels", levels);
  std::vector<double> averages(2 * 7 * 9);
  anchorot::level_averages<T>({{levels.data(), n, n}, {levels.data() + n * n, n, n}}, {7, 9, 0.1, 0.9}, averages.data(),
                              2);
  print("level_averages", averages);
}

void print_l1_costs(std::size_t n, std::size_t m) {
  constexpr std::size_t kLevels = 20;
  const std::vector<double> x = made<double>(n * kLevels), y = made<double>(m * kLevels), width(kLevels, 0.05);
  std::vector<std::int64_t> level(kLevels);
  std::iota(level.begin(), level.end(), 0);
  std::vector<double> out(n * m);
  anchorot::l1_costs(x.data(), n, y.data(), m, {level.data(), level.data(), width.data(), kLevels}, out.data(), 2);
  print("l1_costs", out);
}

struct MadeEvents {
  std::vector<double> position, mass;
  std::vector<std::uint32_t> row;
  std::vector<std::int64_t> jump;

  MadeEvents(std::size_t rows, std::size_t columns)
      : position(rows * columns), mass(rows, 1.0 / static_cast<double>(rows)), row(rows * columns), jump(row.size()) {
    const std::vector<double> cost = made<double>(row.size());
    const std::vector<std::int64_t> jumps(columns, (std::int64_t{1} << 62) / static_cast<std::int64_t>(columns));
    anchorot::cost_events(cost.data(), rows, columns, jumps.data(), position.data(), row.data(), jump.data(), 2);
  }
  anchorot::Events view() const {
    return {position.data(), row.data(), jump.data(), row.size(), mass.data(), mass.size()};
  }
};

// A ring of n points: row k has -1 at column k - 1, the last one also at column 0, and more than 2 on the diagonal.
void print_solution(std::size_t n, std::size_t columns) {
  std::vector<std::int64_t> row_start(n + 1), start(n + 1);
  std::vector<std::int32_t> column, parent(n);
  for (std::size_t k = 1; k < n; ++k) {
    if (k + 1 == n) column.push_back(0);
    column.push_back(static_cast<std::int32_t>(k) - 1);
    row_start[k + 1] = static_cast<std::int64_t>(column.size());
  }
  std::vector<double> value(column.size(), -1.0), diagonal = made<double>(n), factor_diagonal(n);
  for (double& x : diagonal) x += 2.5;
  const anchorot::LowerRows a{row_start.data(), column.data(), value.data(), diagonal.data(), n};
  anchorot::factor_tree(a, parent.data(), start.data() + 1);
  std::partial_sum(start.begin(), start.end(), start.begin());
  std::vector<std::int32_t> row(static_cast<std::size_t>(start.back()));
  std::vector<double> factor(row.size()), x = made<double>(n * columns);
  const anchorot::Factor f{start.data(), row.data(), factor.data(), factor_diagonal.data(), n};
  anchorot::factorise(a, parent.data(), f);
  anchorot::substitute(f, x.data(), columns);
  print("substitute", x);
}

}  // namespace

int main() {
  for (const std::size_t n : {5, 33, 200}) {
    print_levels<double>(n, 64);
    print_levels<float>(n, 31);
    print_l1_costs(n, n + 7);
    print_spaces<double>(n);
    print_spaces<float>(n);
  }
  print_solution(60, 21);
  const MadeEvents x(64, 64), y(128, 32);
  print("cost_events", x.position);
  print("cost_events", x.row);
  print("sweep_energy", std::vector<double>{anchorot::sweep_energy(x.view(), y.view(), 2)});
}
