// Sorting rows of matrices, one panel of rows at a time. Compiled once per instruction set, so that everything here
// has internal linkage or lives in the namespace ANCHOROT_ISA: a template shared with other files could be linked
// from the copy that the processor cannot run.
#include "panels.hpp"

#include "sort_network.hpp"

namespace ANCHOROT_ISA {
namespace {

using anchorot::kPanel;

// Line k of the scratch panel <- entry k of every row. Reads whole cache lines of the rows at a time; columns
// without a row are sorted too, so they must hold numbers.
template <class T>
void rows_to_panel(const T* rows, std::size_t length, std::size_t width, T* panel) {
  constexpr std::size_t P = kPanel<T>;
  for (std::size_t block = 0; block < length; block += P) {
    const std::size_t end = block + P < length ? block + P : length;
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t k = block; k < end; ++k) panel[k * P + c] = rows[c * length + k];
    }
    for (std::size_t c = width; c < P; ++c) {
      for (std::size_t k = block; k < end; ++k) panel[k * P + c] = 0;
    }
  }
}

template <class T>
void panel_to_rows(const T* panel, std::size_t length, std::size_t width, T* rows) {
  constexpr std::size_t P = kPanel<T>;
  for (std::size_t block = 0; block < length; block += P) {
    const std::size_t end = block + P < length ? block + P : length;
    for (std::size_t c = 0; c < width; ++c) {
      for (std::size_t k = block; k < end; ++k) rows[c * length + k] = panel[k * P + c];
    }
  }
}

template <class T>
void sort_across(const T* rows, std::size_t length, std::size_t width, T* out, std::size_t pitch, T* scratch) {
  constexpr std::size_t P = kPanel<T>;
  for (std::size_t c = 0; c < width; c += P) {
    rows_to_panel(rows + c * length, length, width - c < P ? width - c : P, scratch + c * length);
    sort_panel(scratch + c * length, length);
  }
  for (std::size_t k = 0; k < length; ++k) {
    std::size_t c = 0;
    for (; c + P <= width; c += P) {
      for (std::size_t t = 0; t < P; ++t) out[k * pitch + c + t] = scratch[c * length + k * P + t];
    }
    for (std::size_t t = 0; c + t < width; ++t) out[k * pitch + c + t] = scratch[c * length + k * P + t];
  }
}

template <class T>
void sort_along(T* rows, std::size_t length, std::size_t width, T* scratch) {
  rows_to_panel(rows, length, width, scratch);
  sort_panel(scratch, length);
  panel_to_rows(scratch, length, width, rows);
}

}  // namespace

extern const anchorot::PanelKernelSet kernels;
const anchorot::PanelKernelSet kernels{{sort_across<double>, sort_along<double>},
                                       {sort_across<float>, sort_along<float>}};

}  // namespace ANCHOROT_ISA
