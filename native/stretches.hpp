// The events of two collections, cut into stretches of positions that are swept one by one; see sweep.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "kernels.hpp"
#include "parallel.hpp"
#include "simd_kernels.hpp"

namespace anchorot {

// Both collections as one set of rows: first the rows of x, then those of y with negative mass.
struct Rows {
  std::vector<double> signed_mass;
  std::size_t offset_y;  // the first row of y
  Rows(const Events& x, const Events& y) : signed_mass(x.mass, x.mass + x.rows), offset_y(x.rows) {
    for (std::size_t r = 0; r < y.rows; ++r) signed_mass.push_back(-y.mass[r]);
  }
  std::size_t count() const { return signed_mass.size(); }
};

// A run of events, from (x_begin, y_begin) on in the merged order, and all heights before it.
struct Stretch {
  std::size_t x_begin, y_begin, x_end, y_end;
  std::vector<std::int64_t> heights;
};

constexpr std::size_t kStretchEvents = 32768, kStretchEventsPerRow = 32;  // least lengths of a stretch

// How many events lie before a position.
inline std::size_t events_before(const Events& side, double position) {
  return static_cast<std::size_t>(std::lower_bound(side.position, side.position + side.count, position) - side.position);
}

// The first position of an event of `side` before which there are `rank` events of both.
inline double position_at(const Events& side, const Events& other, std::size_t rank) {
  std::size_t low = 0, high = side.count;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (middle + events_before(other, side.position[middle]) < rank) low = middle + 1;
    else high = middle;
  }
  return low < side.count ? side.position[low] : std::numeric_limits<double>::infinity();
}

// Cut the line at positions, into stretches of about as many events, so that no event at a cut position lies before it.
inline std::vector<Stretch> stretches(const Events& x, const Events& y, const Rows& rows, int threads) {
  const std::size_t length = std::max(kStretchEvents, kStretchEventsPerRow * rows.count());
  std::vector<Stretch> result{{0, 0, x.count, y.count, std::vector<std::int64_t>(rows.count(), 0)}};
  for (std::size_t rank = length; rank < x.count + y.count; rank += length) {
    const double cut = std::min(position_at(x, y, rank), position_at(y, x, rank));
    const std::size_t i = events_before(x, cut), j = events_before(y, cut);
    Stretch& last = result.back();
    if (i + j == last.x_begin + last.y_begin) continue;
    last.x_end = i;
    last.y_end = j;
    result.push_back({i, j, x.count, y.count, {}});
  }
  // The heights after every stretch, first as if those before it were 0.
  parallel_for(result.size() - 1, threads, [&](std::size_t k, std::size_t) {
    const Stretch& stretch = result[k];
    std::vector<std::int64_t> heights(rows.count(), 0);
    for (std::size_t i = stretch.x_begin; i < stretch.x_end; ++i) heights[x.row[i]] += x.jump[i];
    for (std::size_t j = stretch.y_begin; j < stretch.y_end; ++j) heights[rows.offset_y + y.row[j]] += y.jump[j];
    result[k + 1].heights = std::move(heights);
  });
  for (std::size_t k = 1; k < result.size(); ++k) {
    const std::vector<std::int64_t>& before = result[k - 1].heights;
    std::transform(before.begin(), before.end(), result[k].heights.begin(), result[k].heights.begin(), std::plus<>());
  }
  return result;
}

// The events of a stretch in their merged order, a block at a time. Merging is free of branches on the data, and apart
// from what is done with the events: there branches are mispredicted, and each would throw away the merge's work ahead.
class MergedEvents {
 public:
  using Event = LiftEvent;
  static constexpr std::size_t kBlock = 1024;

  MergedEvents(const Stretch& stretch, const Events& x, const Events& y, const Rows& rows)
      : sides_{{x, 0, stretch.x_begin, stretch.x_end},
               {y, static_cast<std::uint32_t>(rows.offset_y), stretch.y_begin, stretch.y_end}} {}

  // The next kBlock events, or those that are left.
  std::span<const Event> next() {
    Side &x = sides_[0], &y = sides_[1];
    std::size_t count = 0;
    if (x.end - x.at >= kBlock && y.end - y.at >= kBlock) {
      // Two halves side by side, which hide each other's latency.
      constexpr std::size_t half = kBlock / 2;
      Chain low{x.at, y.at}, high = low;
      high.i += first_of_x(half);
      high.j += half - (high.i - low.i);
      for (; count < half; ++count) {
        block_[count] = take(low);
        block_[count + half] = take(high);
      }
      x.at = high.i;
      y.at = high.j;
      return {block_, kBlock};
    }
    while (count < kBlock && x.at < x.end && y.at < y.end) {
      // In this many steps neither side can run out, so no bounds are checked.
      const std::size_t safe = std::min({kBlock - count, x.end - x.at, y.end - y.at});
      Chain chain{x.at, y.at};
      for (const std::size_t stop = count + safe; count < stop; ++count) block_[count] = take(chain);
      x.at = chain.i;
      y.at = chain.j;
    }
    for (; count < kBlock && x.at < x.end; ++x.at) block_[count++] = x.event(x.at);
    for (; count < kBlock && y.at < y.end; ++y.at) block_[count++] = y.event(y.at);
    return {block_, count};
  }

  // Where the event after this stretch lies, or `otherwise` if there is none.
  double position_after(double otherwise) const {
    double position = std::numeric_limits<double>::infinity();
    for (const Side& side : sides_) {
      if (side.end < side.events.count) position = std::min(position, side.events.position[side.end]);
    }
    return position < std::numeric_limits<double>::infinity() ? position : otherwise;
  }

 private:
  struct Side {
    const Events events;
    std::uint32_t offset;
    std::size_t at, end;
    Event event(std::size_t i) const { return {events.position[i], events.jump[i], offset + events.row[i]}; }
  };
  struct Chain {
    std::size_t i, j;  // the next event of x, and of y
  };
  Event take(Chain& at) const {
    const Events &x = sides_[0].events, &y = sides_[1].events;
    const double in_x = x.position[at.i], in_y = y.position[at.j];
    const bool from_y = in_x > in_y;
    const std::uint64_t mask = -static_cast<std::uint64_t>(from_y);  // with which compilers make no branch
    const auto jump_x = static_cast<std::uint64_t>(x.jump[at.i]), jump_y = static_cast<std::uint64_t>(y.jump[at.j]);
    const std::uint32_t row_x = x.row[at.i], row_y = y.row[at.j] + sides_[1].offset;
    at.i += !from_y;
    at.j += from_y;
    return {from_y ? in_y : in_x, static_cast<std::int64_t>(jump_x ^ ((jump_x ^ jump_y) & mask)),
            row_x ^ ((row_x ^ row_y) & static_cast<std::uint32_t>(mask))};
  }
  // How many of the next `count` events are of x; each side has as many.
  std::size_t first_of_x(std::size_t count) const {
    const double *x = sides_[0].events.position + sides_[0].at, *y = sides_[1].events.position + sides_[1].at;
    std::size_t low = 0, high = count;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (x[middle] > y[count - 1 - middle]) high = middle;
      else low = middle + 1;
    }
    return low;
  }
  Side sides_[2];
  Event block_[kBlock];
};

}  // namespace anchorot
