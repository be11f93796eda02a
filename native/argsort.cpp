// Argsort of many doubles: scatter into buckets by a linear map of the range, then sort eight buckets at a time by the
// network of sort_network.hpp, without a branch on the data.
//
// The network sorts numbers alone. What it is given of a bucket are integers below 2^53, as doubles: where a number
// lies in its bucket's range, in 2^-40 of it, and then its place in the bucket, which keeps equal numbers in their order
// and says afterwards which number it was. Numbers so close that this does not tell them apart are found when they are
// written, out of order, and their bucket is sorted by comparisons; so is a bucket too large for the network.
//
// Those are scattered again, recursively. Equal values end a bucket at once; a distribution so skewed that kMaxDepth
// rounds do not part it is left to std::sort, which keeps the worst case at O(count log count).
#include <algorithm>
#include <cmath>
#include <limits>
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
  bool usable() const { return std::isfinite(scale_); }  // not for a range that is denormally narrow
  std::size_t operator()(double key) const {
    return std::min(last_, static_cast<std::size_t>(static_cast<std::int64_t>((0.5 * key - low_) * scale_)));
  }

 private:
  double low_;  // halves, so that high - low cannot overflow
  std::size_t last_;
  double scale_;
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

template <class Index>
void scatter(const double* values, std::size_t count, const LinearMap& map, std::vector<std::uint32_t>& end,
             Scattered<Index> out) {
  std::fill(end.begin(), end.end(), 0u);
  for_each_interruptibly(count, [&](std::size_t i) { ++end[map(values[i])]; });
  std::exclusive_scan(end.begin(), end.end(), end.begin(), 0u);
  for_each_interruptibly(count, [&](std::size_t i) {
    const std::uint32_t to = end[map(values[i])]++;
    out.key[to] = values[i];
    out.index[to] = static_cast<Index>(i);
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

// out.key <- sorted values, out.index <- where they stood; then done(begin, end) for every part of them.
template <class Index, class Done>
void sort_values(const double* values, std::size_t count, Scattered<Index> out, int threads, Done done) {
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("got " + std::to_string(count) + " numbers to sort, but 2^32 - 1 are the most");
  }
  if (count == 0) return;
  const auto [low, high] = range(count, [&](std::size_t i) { return values[i]; });
  std::vector<std::uint32_t> end(std::min(kFirstBuckets, count / kPerFirstBucket + 1));
  const LinearMap map(low, high, end.size());
  if (map.usable()) {
    scatter(values, count, map, end, out);
  } else {
    std::copy(values, values + count, out.key);
    std::iota(out.index, out.index + count, Index{0});
    end.assign(1, static_cast<std::uint32_t>(count));
  }
  const std::size_t tasks = (end.size() + kPanel<double> - 1) / kPanel<double>;
  std::vector<BucketSorter<Index>> sorters(worker_count(tasks, threads));
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t worker) {
    const std::size_t first = task * kPanel<double>, buckets = std::min(kPanel<double>, end.size() - first);
    const std::size_t begin = first == 0 ? 0 : end[first - 1];
    sorters[worker](out, begin, end.data() + first, buckets);
    done(begin, end[first + buckets - 1]);
  });
}

}  // namespace

void argsort(const double* values, std::size_t count, double* sorted, std::int64_t* order, int threads) {
  sort_values<std::int64_t>(values, count, {sorted, order}, threads, [](std::size_t, std::size_t) {});
}

void cost_events(const double* cost, std::size_t rows, std::size_t columns, const std::int64_t* jumps,
                 double* position, std::uint32_t* row, std::int64_t* jump, int threads) {
  // Entries have 32 bits, so that this quotient is further from the next integer than it is rounded.
  const double share = 1.0 / static_cast<double>(columns);
  sort_values<std::uint32_t>(cost, rows * columns, {position, row}, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      const std::uint32_t entry = row[e];
      row[e] = static_cast<std::uint32_t>((static_cast<double>(entry) + 0.5) * share);
      jump[e] = jumps[entry - row[e] * columns];
    }
  });
}

}  // namespace anchorot
