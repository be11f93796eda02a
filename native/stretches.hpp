// The events of two collections, cut into stretches of positions that are swept one by one; see sweep.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels.hpp"

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

constexpr std::size_t kStretchEvents = 32768, kStretchEventsPerRow = 64;  // least lengths of a stretch

// Cut the line at positions, so that no event at a cut position lies before it.
inline std::vector<Stretch> stretches(const Events& x, const Events& y, const Rows& rows) {
  const std::size_t length = std::max(kStretchEvents, kStretchEventsPerRow * rows.count());
  std::vector<double> cuts;
  for (const Events* side : {&x, &y}) {
    for (std::size_t i = 0; i < side->count; i += length) cuts.push_back(side->position[i]);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  auto index = [](const Events& side, double cut) {
    return static_cast<std::size_t>(std::lower_bound(side.position, side.position + side.count, cut) - side.position);
  };
  std::vector<Stretch> result;
  std::vector<std::int64_t> heights(rows.count(), 0);
  std::size_t i = 0, j = 0;
  for (std::size_t c = 0; c < cuts.size(); ++c) {
    for (const std::size_t end = index(x, cuts[c]); i < end; ++i) heights[x.row[i]] += x.jump[i];
    for (const std::size_t end = index(y, cuts[c]); j < end; ++j) heights[rows.offset_y + y.row[j]] += y.jump[j];
    const bool last = c + 1 == cuts.size();
    result.push_back({i, j, last ? x.count : index(x, cuts[c + 1]), last ? y.count : index(y, cuts[c + 1]), heights});
  }
  return result;
}

// The events of a stretch in their merged order, a block at a time. Merging is free of branches on the data, and apart
// from what is done with the events: there branches are mispredicted, and each would throw away the merge's work ahead.
class MergedEvents {
 public:
  struct Event {
    double position;
    std::int64_t jump;
    std::uint32_t row;
  };
  static constexpr std::size_t kBlock = 1024;

  MergedEvents(const Stretch& stretch, const Events& x, const Events& y, const Rows& rows)
      : sides_{{x, 0, stretch.x_begin, stretch.x_end},
               {y, static_cast<std::uint32_t>(rows.offset_y), stretch.y_begin, stretch.y_end}} {}

  // The next kBlock events, or those that are left.
  std::span<const Event> next() {
    Side &x = sides_[0], &y = sides_[1];
    std::size_t count = 0;
    while (count < kBlock && x.at < x.end && y.at < y.end) {
      // So many steps neither side can run out in, and no bounds need be looked at.
      const std::size_t safe = std::min({kBlock - count, x.end - x.at, y.end - y.at});
      std::size_t i = x.at, j = y.at;
      for (const std::size_t stop = count + safe; count < stop; ++count) {
        const bool from_y = x.events.position[i] > y.events.position[j];
        block_[count] = from_y ? y.event(j) : x.event(i);
        i += !from_y;
        j += from_y;
      }
      x.at = i;
      y.at = j;
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
  Side sides_[2];
  Event block_[kBlock];
};

}  // namespace anchorot
