// Argsort of many doubles: scatter into buckets by a linear map of the range, then sort eight buckets at a time by the
// network of sort_network.hpp, without a branch on the data.
//
// The network sorts numbers alone. What it is given of a bucket are integers below 2^53, as doubles: where a number
// lies in its bucket's range, in 2^-40 of it, and then its place in the bucket, which keeps equal numbers in their order
// and says afterwards which number it was. Numbers so close that this does not distinguish them are found when they are
// written, out of order, and their bucket is sorted by comparisons; so is a bucket too large for the network.
//
// Those are scattered again, recursively. Equal values end a bucket at once; a distribution so skewed that kMaxDepth
// rounds do not part it is left to std::sort, which keeps the worst case at O(count log count).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "interrupt.hpp"
#include "kernels.hpp"
#include "keyed.hpp"
#include "parallel.hpp"
#include "simd_kernels.hpp"

namespace anchorot {
namespace {

// A total order, so that the result does not depend on who sorted what.
bool before(const Keyed& a, const Keyed& b) { return a.key < b.key || (a.key == b.key && a.index < b.index); }

constexpr int kMaxDepth = 6;
constexpr std::size_t kInsertion = 24;     // below this, insertion sort
constexpr std::size_t kMaxBuckets = 4096;  // open write streams of one scatter
constexpr std::size_t kPerBucket = 1;      // numbers aimed at in the smallest buckets

void insertion_sort(Keyed* numbers, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    const Keyed number = numbers[i];
    std::size_t j = i;
    for (; j > 0 && before(number, numbers[j - 1]); --j) numbers[j] = numbers[j - 1];
    numbers[j] = number;
  }
}

// The smallest and the largest of key(0), ..., key(count - 1), in four independent chains.
template <class KeyAt>
std::pair<double, double> range(std::size_t count, KeyAt key) {
  double low[4], high[4];
  std::fill(low, low + 4, key(0));
  std::fill(high, high + 4, key(0));
  for (std::size_t i = 0; i + 4 <= count; i += 4) {
    for (int c = 0; c < 4; ++c) {
      const double k = key(i + c);
      low[c] = k < low[c] ? k : low[c];
      high[c] = k > high[c] ? k : high[c];
    }
  }
  for (std::size_t i = count / 4 * 4; i < count; ++i) {
    low[0] = std::min(low[0], key(i));
    high[0] = std::max(high[0], key(i));
  }
  return {*std::min_element(low, low + 4), *std::max_element(high, high + 4)};
}

// A monotone map of [low, high] onto 0, ..., buckets - 1.
class LinearMap {
 public:
  LinearMap(double low, double high, std::size_t buckets)
      : low_(0.5 * low), last_(buckets - 1), scale_(static_cast<double>(buckets) / (0.5 * high - 0.5 * low)) {}
  static LinearMap to_one() { return LinearMap(); }
  bool usable() const { return std::isfinite(scale_); }  // not for a range that is denormally narrow
  std::size_t operator()(double key) const {
    return std::min(last_, static_cast<std::size_t>(static_cast<std::int64_t>((0.5 * key - low_) * scale_)));
  }

 private:
  LinearMap() = default;
  double low_ = 0;  // halves, so that high - low cannot overflow
  std::size_t last_ = 0;
  double scale_ = 0;
};

// Scatter `count` numbers, at(i) giving the i-th, into `out` by bucket. On return end[b] is where bucket b ends.
template <class NumberAt>
void scatter(std::size_t count, NumberAt at, const LinearMap& map, std::size_t buckets, Keyed* out,
             std::uint32_t* end) {
  std::fill(end, end + buckets, 0u);
  for_each_interruptibly(count, [&](std::size_t i) { ++end[map(at(i).key)]; });
  std::uint32_t total = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::uint32_t size = end[b];
    end[b] = total;
    total += size;
  }
  for_each_interruptibly(count, [&](std::size_t i) {
    const Keyed number = at(i);
    out[end[map(number.key)]++] = number;
  });
}

// Calls body(begin, size) for every bucket.
template <class Body>
void for_each_bucket(const std::uint32_t* end, std::size_t buckets, Body body) {
  std::size_t begin = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    body(begin, end[b] - begin);
    begin = end[b];
  }
}

void sort_bucket(Keyed* numbers, std::size_t count, Keyed* scratch, int depth) {
  if (count <= kInsertion) return insertion_sort(numbers, count);
  const auto [low, high] = range(count, [&](std::size_t i) { return numbers[i].key; });
  if (low == high) return;
  const std::size_t buckets = std::min(kMaxBuckets, count / kPerBucket + 1);
  const LinearMap map(low, high, buckets);
  if (depth == kMaxDepth || !map.usable()) {
    std::sort(numbers, numbers + count, before);
    return;
  }
  std::uint32_t end[kMaxBuckets];
  scatter(count, [&](std::size_t i) { return numbers[i]; }, map, buckets, scratch, end);
  std::copy(scratch, scratch + count, numbers);
  for_each_bucket(end, buckets, [&](std::size_t begin, std::size_t size) {
    if (size > kInsertion) sort_bucket(numbers + begin, size, scratch + begin, depth + 1);
  });
  insertion_sort(numbers, count);  // what is left to do lies inside the small buckets
}

}  // namespace

void sort_keyed(Keyed* numbers, std::size_t count, Keyed* scratch) { sort_bucket(numbers, count, scratch, 1); }

namespace {

// Numbers in the order of their buckets, and where each stood; sorted in place, bucket by bucket.
template <class Index>
struct Scattered {
  double* key;
  Index* index;
};

// Which entries are sorted, in chunks: body(begin, end) for every run of them in a chunk, in order.
struct AllEntries {
  std::size_t count;
  template <class Body>
  void for_each_run(std::size_t chunk, std::size_t chunks, Body body) const {
    body(count * chunk / chunks, count * (chunk + 1) / chunks);
  }
};

// Those on and above the diagonal of an n x n matrix.
struct UpperEntries {
  std::size_t n, count;
  explicit UpperEntries(std::size_t size) : n(size), count(size * (size + 1) / 2) {}
  template <class Body>
  void for_each_run(std::size_t chunk, std::size_t chunks, Body body) const {
    for (std::size_t i = first_row(chunk, chunks); i < first_row(chunk + 1, chunks); ++i) {
      check_interrupt();
      body(i * n + i, i * n + n);
    }
  }

 private:
  std::size_t first_row(std::size_t chunk, std::size_t chunks) const {  // so that chunks have about as many entries
    const double share = static_cast<double>(chunk) / static_cast<double>(chunks);
    return static_cast<std::size_t>(static_cast<double>(n) * (1 - std::sqrt(1 - share)));
  }
};

// Scatter into end.size() buckets, in the order of entries whatever the threads. On return end[b] is where bucket b ends.
template <class Entries, class Index>
void scatter(const double* values, const Entries& entries, const LinearMap& map, std::vector<std::uint32_t>& end,
             Scattered<Index> out, std::size_t chunks, int threads) {
  const std::size_t buckets = end.size();
  std::vector<std::uint32_t> next(chunks * buckets, 0u);  // of a chunk: how many go, and then where the next one goes
  parallel_for(chunks, threads, [&](std::size_t chunk, std::size_t) {
    std::uint32_t* size = next.data() + chunk * buckets;
    entries.for_each_run(chunk, chunks, [&](std::size_t begin, std::size_t finish) {
      for_each_interruptibly(finish - begin, [&](std::size_t i) { ++size[map(values[begin + i])]; });
    });
  });
  std::uint32_t total = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      total += std::exchange(next[chunk * buckets + b], total);
    }
    end[b] = total;
  }
  parallel_for(chunks, threads, [&](std::size_t chunk, std::size_t) {
    std::uint32_t* own = next.data() + chunk * buckets;
    entries.for_each_run(chunk, chunks, [&](std::size_t begin, std::size_t finish) {
      for_each_interruptibly(finish - begin, [&](std::size_t i) {
        const double value = values[begin + i];
        const std::uint32_t to = own[map(value)]++;
        out.key[to] = value;
        out.index[to] = static_cast<Index>(begin + i);
      });
    });
  });
}

// One worker's memory, and what it does with kPanel buckets at a time.
template <class Index>
class BucketSorter {
 public:
  // Sort the buckets that end at end[0], ..., end[buckets - 1], the first of which begins at `begin`.
  void operator()(Scattered<Index> all, std::size_t begin, const std::uint32_t* end, std::size_t buckets) {
    std::size_t lines = 0, first[kPanel<double>];
    for (std::size_t b = 0; b < buckets; ++b) {
      first[b] = b == 0 ? begin : end[b - 1];
      const std::size_t size = end[b] - first[b];
      if (size > kMostLines) {
        sort_apart({all.key + first[b], all.index + first[b]}, size);
      } else {
        lines = std::max(lines, size);
      }
    }
    if (lines == 0) return;  // all were sorted apart, or are empty
    panel_.resize(std::max(panel_.size(), lines));
    auto in_panel = [&](std::size_t b) { return end[b] - first[b] <= kMostLines ? end[b] - first[b] : 0; };
    for (std::size_t b = 0; b < kPanel<double>; ++b) {
      pack(all.key + (b < buckets ? first[b] : 0), b < buckets ? in_panel(b) : 0, lines, b);
    }
    simd_kernels().f64.sort_panel(panel_[0].numbers, lines);
    for (std::size_t b = 0; b < buckets; ++b) unpack({all.key + first[b], all.index + first[b]}, in_panel(b), b);
  }

 private:
  static constexpr std::size_t kPlaceBits = 12, kMostLines = std::size_t{1} << kPlaceBits;
  static constexpr double kPlaces = kMostLines, kRange = static_cast<double>(std::int64_t{1} << (52 - kPlaceBits));
  struct alignas(kLineBytes) Line {
    double numbers[kPanel<double>];
  };

  // Column `column` of the panel <- where the keys lie in their range, and their places.
  void pack(const double* keys, std::size_t count, std::size_t lines, std::size_t column) {
    const auto [low, high] = count > 0 ? range(count, [&](std::size_t i) { return keys[i]; }) : std::pair(0.0, 0.0);
    const double scale = kRange / (0.5 * high - 0.5 * low), least = 0.5 * low;
    const double usable = std::isfinite(scale) ? scale : 0;  // else in the order they have, which unpack looks at
    for (std::size_t i = 0; i < count; ++i) {
      const auto part = static_cast<double>(static_cast<std::int64_t>((0.5 * keys[i] - least) * usable));
      panel_[i].numbers[column] = part * kPlaces + static_cast<double>(i);
    }
    for (std::size_t i = count; i < lines; ++i) panel_[i].numbers[column] = std::numeric_limits<double>::infinity();
  }

  void unpack(Scattered<Index> bucket, std::size_t count, std::size_t column) {
    if (count == 0) return;
    key_.assign(bucket.key, bucket.key + count);
    index_.assign(bucket.index, bucket.index + count);
    double previous = -std::numeric_limits<double>::infinity();
    bool in_order = true;
    for (std::size_t k = 0; k < count; ++k) {
      const auto place = static_cast<std::size_t>(static_cast<std::int64_t>(panel_[k].numbers[column])) % kMostLines;
      in_order &= previous <= key_[place];
      previous = key_[place];
      bucket.key[k] = previous;
      bucket.index[k] = index_[place];
    }
    if (!in_order) sort_apart(bucket, count);
  }

  void sort_apart(Scattered<Index> bucket, std::size_t count) {
    std::vector<Keyed> numbers(count), scratch(count);
    for (std::size_t k = 0; k < count; ++k) numbers[k] = {bucket.key[k], static_cast<std::int64_t>(bucket.index[k])};
    sort_keyed(numbers.data(), count, scratch.data());
    for (std::size_t k = 0; k < count; ++k) {
      bucket.key[k] = numbers[k].key;
      bucket.index[k] = static_cast<Index>(numbers[k].index);
    }
  }

  std::vector<Line> panel_;
  std::vector<double> key_;
  std::vector<Index> index_;
};

constexpr std::size_t kFirstBuckets = 4096, kPerFirstBucket = 512;  // buckets of the first round, and their size

constexpr std::size_t kPerChunk = 1 << 16;  // entries that one thread counts and scatters, at least

template <class Entries>
std::pair<double, double> range(const double* values, const Entries& entries, std::size_t chunks, int threads) {
  std::vector<std::pair<double, double>> part(chunks);
  parallel_for(chunks, threads, [&](std::size_t chunk, std::size_t) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    entries.for_each_run(chunk, chunks, [&](std::size_t begin, std::size_t end) {
      if (begin == end) return;
      const auto [low, high] = range(end - begin, [&](std::size_t i) { return values[begin + i]; });
      least = std::min(least, low);
      most = std::max(most, high);
    });
    part[chunk] = {least, most};
  });
  auto found = part[0];
  for (const auto& [low, high] : part) found = {std::min(found.first, low), std::max(found.second, high)};
  return found;
}

// out.key <- sorted values, out.index <- where they stood; then done(begin, end) for every part of them.
template <class Entries, class Index, class Done>
void sort_values(const double* values, const Entries& entries, Scattered<Index> out, int threads, Done done) {
  const std::size_t count = entries.count;
  if (count == 0) return;
  const std::size_t chunks = worker_count(count / kPerChunk + 1, threads);
  const auto [low, high] = range(values, entries, chunks, threads);
  std::vector<std::uint32_t> end(std::min(kFirstBuckets, count / kPerFirstBucket + 1));
  LinearMap map(low, high, end.size());
  if (!map.usable()) {
    map = LinearMap::to_one();
    end.resize(1);
  }
  scatter(values, entries, map, end, out, chunks, threads);
  const std::size_t tasks = (end.size() + kPanel<double> - 1) / kPanel<double>;
  std::vector<BucketSorter<Index>> sorters(worker_count(tasks, threads));
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t worker) {
    const std::size_t first = task * kPanel<double>, buckets = std::min(kPanel<double>, end.size() - first);
    const std::size_t begin = first == 0 ? 0 : end[first - 1];
    sorters[worker](out, begin, end.data() + first, buckets);
    done(begin, end[first + buckets - 1]);
  });
}

void check_count(std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("got " + std::to_string(count) + " numbers to sort, but 2^32 - 1 are the most");
  }
}

constexpr std::size_t kSquare = 32;  // rows and columns that are compared with their mirror image at a time

bool is_symmetric(const double* cost, std::size_t n, int threads) {
  std::atomic<bool> found{true};
  parallel_for((n + kSquare - 1) / kSquare, threads, [&](std::size_t task, std::size_t) {
    const std::size_t top = task * kSquare, bottom = std::min(n, top + kSquare);
    for (std::size_t left = top; left < n && found; left += kSquare) {
      bool same = true;
      for (std::size_t i = top; i < bottom; ++i) {
        for (std::size_t j = left; j < std::min(n, left + kSquare); ++j) same &= cost[i * n + j] == cost[j * n + i];
      }
      if (!same) found = false;
    }
  });
  return found;
}

// The row and the column of an entry.
class Places {
 public:
  explicit Places(std::size_t columns) : columns_(columns), share_(1.0 / static_cast<double>(columns)) {}
  std::uint32_t row(std::uint32_t entry) const {
    // Entries have 32 bits, so that this quotient is further from the next integer than it is rounded.
    return static_cast<std::uint32_t>(static_cast<std::int64_t>((static_cast<double>(entry) + 0.5) * share_));
  }
  std::uint32_t column(std::uint32_t entry, std::uint32_t row) const {
    return entry - row * static_cast<std::uint32_t>(columns_);
  }

 private:
  std::size_t columns_;
  double share_;
};

// The events of a symmetric matrix: half of them are sorted, and each is followed by its mirror image.
void mirrored_events(const double* cost, std::size_t n, const std::int64_t* jumps, double* position,
                     std::uint32_t* row, std::int64_t* jump, int threads) {
  const UpperEntries entries(n);
  const std::unique_ptr<double[]> key(new double[entries.count]);
  const std::unique_ptr<std::uint32_t[]> index(new std::uint32_t[entries.count]);
  take_pages(key.get(), entries.count * sizeof(double), threads);
  take_pages(index.get(), entries.count * sizeof(std::uint32_t), threads);
  std::vector<double> diagonal(n);
  for (std::size_t i = 0; i < n; ++i) diagonal[i] = cost[i * n + i];
  std::sort(diagonal.begin(), diagonal.end());
  const Places places(n);
  sort_values<UpperEntries, std::uint32_t>(
      cost, entries, {key.get(), index.get()}, threads, [&](std::size_t begin, std::size_t end) {
        if (begin == end) return;
        // Equal numbers are in one part: on the diagonal, before this part, there are all that are less than its first.
        const auto single = std::lower_bound(diagonal.begin(), diagonal.end(), key[begin]) - diagonal.begin();
        std::size_t out = 2 * begin - static_cast<std::size_t>(single);
        for (std::size_t e = begin; e < end; ++e) {
          const std::uint32_t i = places.row(index[e]), j = places.column(index[e], i);
          position[out] = key[e];
          row[out] = i;
          jump[out++] = jumps[j];
          if (i == j) continue;
          position[out] = key[e];
          row[out] = j;
          jump[out++] = jumps[i];
        }
      });
}

}  // namespace

void argsort(const double* values, std::size_t count, double* sorted, std::int64_t* order, int threads) {
  check_count(count);
  const AllEntries entries{count};
  sort_values<AllEntries, std::int64_t>(values, entries, {sorted, order}, threads, [](std::size_t, std::size_t) {});
}

void cost_events(const double* cost, std::size_t rows, std::size_t columns, const std::int64_t* jumps,
                 double* position, std::uint32_t* row, std::int64_t* jump, int threads) {
  check_count(rows * columns);
  take_pages(position, rows * columns * sizeof(*position), threads);
  take_pages(row, rows * columns * sizeof(*row), threads);
  take_pages(jump, rows * columns * sizeof(*jump), threads);
  if (rows == columns && is_symmetric(cost, rows, threads)) {
    return mirrored_events(cost, rows, jumps, position, row, jump, threads);
  }
  const Places places(columns);
  const AllEntries entries{rows * columns};
  sort_values<AllEntries, std::uint32_t>(
      cost, entries, {position, row}, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t e = begin; e < end; ++e) {
          const std::uint32_t entry = row[e];
          row[e] = places.row(entry);
          jump[e] = jumps[places.column(entry, row[e])];
        }
      });
}

}  // namespace anchorot
