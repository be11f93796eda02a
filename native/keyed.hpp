// Numbers that remember where they stood.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anchorot {

struct Keyed {
  double key;
  std::int64_t index;
};

// Sort by key, then by index, numbers that stand in the order of their indices; scratch has room for as many.
void sort_keyed(Keyed* numbers, std::size_t count, Keyed* scratch);

}  // namespace anchorot
