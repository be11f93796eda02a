// Picks the instruction set once.
#include <cstdlib>
#include <cstring>

#include "kernels.hpp"
#include "simd_kernels.hpp"

namespace isa_baseline {
extern const anchorot::KernelSet kernels;
}
#ifdef ANCHOROT_X86_DISPATCH
namespace isa_avx2 {
extern const anchorot::KernelSet kernels;
}
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

// ANCHOROT_SIMD=avx2 or baseline asks for less than the processor offers, so that every copy can be tested.
Choice choose() {
#ifdef ANCHOROT_X86_DISPATCH
  const char* limit = std::getenv("ANCHOROT_SIMD");
  const bool up_to_avx2 = limit && std::strcmp(limit, "avx2") == 0;
  const bool up_to_baseline = limit && std::strcmp(limit, "baseline") == 0;
  __builtin_cpu_init();
  if (!up_to_baseline && !up_to_avx2 && __builtin_cpu_supports("avx512f")) return {"avx512", &isa_avx512::kernels};
  if (!up_to_baseline && __builtin_cpu_supports("avx2")) return {"avx2", &isa_avx2::kernels};
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
