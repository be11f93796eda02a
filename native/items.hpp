// Numbers that remember where they came from.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anchorot {

struct Item {
  double key;
  std::int64_t index;
};

// Sort by key, then by index, items that come in the order of their indices; scratch has room for as many.
void sort_items(Item* items, std::size_t count, Item* scratch);

}  // namespace anchorot
