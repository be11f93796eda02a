// Picks the instruction set once.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "kernels.hpp"
#include "portable.hpp"
#include "simd_kernels.hpp"

namespace isa_baseline {
extern const anchorot::KernelSet kernels;
}
#ifdef ANCHOROT_AVX2
namespace isa_avx2 {
extern const anchorot::KernelSet kernels;
}
#endif
#ifdef ANCHOROT_AVX512
namespace isa_avx512 {
extern const anchorot::KernelSet kernels;
}
#endif

namespace anchorot {
namespace {

struct Choice {
  const char* name;
  const KernelSet* kernels;
};

enum class Limit { baseline, avx2, avx512 };

// ANCHOROT_SIMD=avx2 or baseline asks for less than the processor offers, so that every copy can be tested.
Limit limit() {
  const char* set = std::getenv("ANCHOROT_SIMD");
  const std::string name = set == nullptr ? "" : set;
  if (name.empty() || name == "avx512") return Limit::avx512;
  if (name == "avx2") return Limit::avx2;
  if (name == "baseline") return Limit::baseline;
  throw std::invalid_argument("ANCHOROT_SIMD must be 'avx512', 'avx2' or 'baseline', but got '" + name + "'");
}

Choice choose() {
  [[maybe_unused]] const Limit most = limit();
#ifdef ANCHOROT_AVX512
  if (most >= Limit::avx512 && portable::has_avx512()) return {"avx512", &isa_avx512::kernels};
#endif
#ifdef ANCHOROT_AVX2
  if (most >= Limit::avx2 && portable::has_avx2()) return {"avx2", &isa_avx2::kernels};
#endif
  return {"baseline", &isa_baseline::kernels};
}

const Choice& choice() {
  static const Choice chosen = choose();
  return chosen;
}

}  // namespace

const char* simd_level() { return choice().name; }

const KernelSet& simd_kernels() { return *choice().kernels; }

}  // namespace anchorot
