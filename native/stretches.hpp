// The events of two collections, cut into stretches of positions that are swept one by one; see sweep.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
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

// The events of a stretch in their merged order; next() is free of branches on the data.
class MergedEvents {
 public:
  struct Event {
    double position;
    std::uint32_t row;
    std::int64_t jump;
  };

  MergedEvents(const Stretch& stretch, const Events& x, const Events& y, const Rows& rows)
      : sides_{{x, 0, stretch.x_begin, stretch.x_end},
               {y, static_cast<std::uint32_t>(rows.offset_y), stretch.y_begin, stretch.y_end}} {}

  std::size_t left() const { return (sides_[0].end - sides_[0].at) + (sides_[1].end - sides_[1].at); }

  Event next() {
    Side& side = sides_[sides_[0].position() > sides_[1].position()];
    const std::size_t i = side.at++;
    return {side.events.position[i], side.offset + side.events.row[i], side.events.jump[i]};
  }

  // Calls prepare(row) for the rows of the events `ahead` from here on either side.
  template <class Prepare>
  void look_ahead(std::size_t ahead, Prepare prepare) const {
    for (const Side& side : sides_) {
      if (side.at + ahead < side.end) prepare(side.offset + side.events.row[side.at + ahead]);
    }
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
    const Events& events;
    std::uint32_t offset;
    std::size_t at, end;
    double position() const { return at < end ? events.position[at] : std::numeric_limits<double>::infinity(); }
  };
  Side sides_[2];
};

}  // namespace anchorot
