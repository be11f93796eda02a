// What compilers spell differently: unrolling, prefetching, and asking the processor what it offers.
//
// All are hints or questions: none changes a bit of a result.
#pragma once

#if defined(_MSC_VER) && !defined(__clang__)
#define ANCHOROT_MSVC
#if defined(_M_X64)
#include <intrin.h>
#endif
#endif

// Before a loop of few turns whose body must stay in registers. MSVC has no such hint, and unrolls as it sees fit.
#define ANCHOROT_PRAGMA(text) _Pragma(#text)
#if defined(ANCHOROT_MSVC)
#define ANCHOROT_UNROLL(count)
#elif defined(__clang__)
#define ANCHOROT_UNROLL(count) ANCHOROT_PRAGMA(clang loop unroll_count(count))
#else
#define ANCHOROT_UNROLL(count) ANCHOROT_PRAGMA(GCC unroll count)
#endif

// MSVC has SSE2 on every x86-64, but does not say so.
#if defined(__SSE2__) || (defined(ANCHOROT_MSVC) && defined(_M_X64))
#define ANCHOROT_SSE2
#endif

namespace anchorot::portable {
namespace {  // a copy for every instruction set that a file is compiled for

// Bring what lies at `address` into the nearest cache.
inline void prefetch([[maybe_unused]] const void* address) {
#if !defined(ANCHOROT_MSVC)
  __builtin_prefetch(address);
#elif defined(_M_X64)
  _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
#endif
}

#if defined(ANCHOROT_AVX2)
#if defined(ANCHOROT_MSVC)

// Whether both the processor and the system, which must save the wide registers, know AVX2.
inline bool has_avx2() {
  int found[4];
  __cpuid(found, 0);
  if (found[0] < 7) return false;
  __cpuid(found, 1);
  constexpr int kXsave = 1 << 27, kAvx = 1 << 28, kAvx2 = 1 << 5;
  if ((found[2] & kXsave) == 0 || (found[2] & kAvx) == 0 || (_xgetbv(0) & 6) != 6) return false;
  __cpuidex(found, 7, 0);
  return (found[1] & kAvx2) != 0;
}

#else

inline bool has_avx2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2");
}

inline bool has_avx512() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f");
}

#endif
#endif

}  // namespace
}  // namespace anchorot::portable
