// One SIMD register of T, for the instruction set this file is compiled for.
//
// The sorting kernels are compiled once per instruction set (see CMakeLists.txt), each time inside its own
// namespace ANCHOROT_ISA, and chosen at run time; nothing here may be shared between those copies.
#pragma once

#include <cstddef>

#include "portable.hpp"

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#elif defined(ANCHOROT_SSE2)
#include <emmintrin.h>
#endif

namespace ANCHOROT_ISA {

#if defined(__AVX512F__)

// Rows sorted or merged inside the register file at once: half of the 32 registers hold data.
constexpr int kRadix = 16;
// Rows of a tile of the L1 distance kernel, each with two registers of sums.
constexpr int kTileRows = 12;

struct VecF64 {
  using Scalar = double;
  __m512d v;
  static VecF64 load(const double* p) { return {_mm512_loadu_pd(p)}; }
  static VecF64 load(const float* p) { return {_mm512_cvtps_pd(_mm256_loadu_ps(p))}; }
  void store(double* p) const { _mm512_storeu_pd(p, v); }
  static VecF64 fill(double x) { return {_mm512_set1_pd(x)}; }
  static VecF64 min(VecF64 a, VecF64 b) { return {_mm512_min_pd(a.v, b.v)}; }
  static VecF64 max(VecF64 a, VecF64 b) { return {_mm512_max_pd(a.v, b.v)}; }
  static VecF64 add(VecF64 a, VecF64 b) { return {_mm512_add_pd(a.v, b.v)}; }
  static VecF64 sub(VecF64 a, VecF64 b) { return {_mm512_sub_pd(a.v, b.v)}; }
  static VecF64 mul(VecF64 a, VecF64 b) { return {_mm512_mul_pd(a.v, b.v)}; }
  static VecF64 abs(VecF64 a) { return {_mm512_abs_pd(a.v)}; }
};
struct VecF32 {
  using Scalar = float;
  __m512 v;
  static VecF32 load(const float* p) { return {_mm512_loadu_ps(p)}; }
  void store(float* p) const { _mm512_storeu_ps(p, v); }
  static VecF32 fill(float x) { return {_mm512_set1_ps(x)}; }
  static VecF32 min(VecF32 a, VecF32 b) { return {_mm512_min_ps(a.v, b.v)}; }
  static VecF32 max(VecF32 a, VecF32 b) { return {_mm512_max_ps(a.v, b.v)}; }
  static VecF32 add(VecF32 a, VecF32 b) { return {_mm512_add_ps(a.v, b.v)}; }
  static VecF32 sub(VecF32 a, VecF32 b) { return {_mm512_sub_ps(a.v, b.v)}; }
  static VecF32 mul(VecF32 a, VecF32 b) { return {_mm512_mul_ps(a.v, b.v)}; }
  static VecF32 div(VecF32 a, VecF32 b) { return {_mm512_div_ps(a.v, b.v)}; }
};

#elif defined(__AVX2__)

constexpr int kRadix = 8;
constexpr int kTileRows = 5;

struct VecF64 {
  using Scalar = double;
  __m256d v;
  static VecF64 load(const double* p) { return {_mm256_loadu_pd(p)}; }
  static VecF64 load(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p))}; }
  void store(double* p) const { _mm256_storeu_pd(p, v); }
  static VecF64 fill(double x) { return {_mm256_set1_pd(x)}; }
  static VecF64 min(VecF64 a, VecF64 b) { return {_mm256_min_pd(a.v, b.v)}; }
  static VecF64 max(VecF64 a, VecF64 b) { return {_mm256_max_pd(a.v, b.v)}; }
  static VecF64 add(VecF64 a, VecF64 b) { return {_mm256_add_pd(a.v, b.v)}; }
  static VecF64 sub(VecF64 a, VecF64 b) { return {_mm256_sub_pd(a.v, b.v)}; }
  static VecF64 mul(VecF64 a, VecF64 b) { return {_mm256_mul_pd(a.v, b.v)}; }
  static VecF64 abs(VecF64 a) { return {_mm256_andnot_pd(_mm256_set1_pd(-0.0), a.v)}; }
};
struct VecF32 {
  using Scalar = float;
  __m256 v;
  static VecF32 load(const float* p) { return {_mm256_loadu_ps(p)}; }
  void store(float* p) const { _mm256_storeu_ps(p, v); }
  static VecF32 fill(float x) { return {_mm256_set1_ps(x)}; }
  static VecF32 min(VecF32 a, VecF32 b) { return {_mm256_min_ps(a.v, b.v)}; }
  static VecF32 max(VecF32 a, VecF32 b) { return {_mm256_max_ps(a.v, b.v)}; }
  static VecF32 add(VecF32 a, VecF32 b) { return {_mm256_add_ps(a.v, b.v)}; }
  static VecF32 sub(VecF32 a, VecF32 b) { return {_mm256_sub_ps(a.v, b.v)}; }
  static VecF32 mul(VecF32 a, VecF32 b) { return {_mm256_mul_ps(a.v, b.v)}; }
  static VecF32 div(VecF32 a, VecF32 b) { return {_mm256_div_ps(a.v, b.v)}; }
};

#elif defined(ANCHOROT_SSE2)

constexpr int kRadix = 8;
constexpr int kTileRows = 5;

struct VecF64 {
  using Scalar = double;
  __m128d v;
  static VecF64 load(const double* p) { return {_mm_loadu_pd(p)}; }
  static VecF64 load(const float* p) { return {_mm_setr_pd(p[0], p[1])}; }
  void store(double* p) const { _mm_storeu_pd(p, v); }
  static VecF64 fill(double x) { return {_mm_set1_pd(x)}; }
  static VecF64 min(VecF64 a, VecF64 b) { return {_mm_min_pd(a.v, b.v)}; }
  static VecF64 max(VecF64 a, VecF64 b) { return {_mm_max_pd(a.v, b.v)}; }
  static VecF64 add(VecF64 a, VecF64 b) { return {_mm_add_pd(a.v, b.v)}; }
  static VecF64 sub(VecF64 a, VecF64 b) { return {_mm_sub_pd(a.v, b.v)}; }
  static VecF64 mul(VecF64 a, VecF64 b) { return {_mm_mul_pd(a.v, b.v)}; }
  static VecF64 abs(VecF64 a) { return {_mm_andnot_pd(_mm_set1_pd(-0.0), a.v)}; }
};
struct VecF32 {
  using Scalar = float;
  __m128 v;
  static VecF32 load(const float* p) { return {_mm_loadu_ps(p)}; }
  void store(float* p) const { _mm_storeu_ps(p, v); }
  static VecF32 fill(float x) { return {_mm_set1_ps(x)}; }
  static VecF32 min(VecF32 a, VecF32 b) { return {_mm_min_ps(a.v, b.v)}; }
  static VecF32 max(VecF32 a, VecF32 b) { return {_mm_max_ps(a.v, b.v)}; }
  static VecF32 add(VecF32 a, VecF32 b) { return {_mm_add_ps(a.v, b.v)}; }
  static VecF32 sub(VecF32 a, VecF32 b) { return {_mm_sub_ps(a.v, b.v)}; }
  static VecF32 mul(VecF32 a, VecF32 b) { return {_mm_mul_ps(a.v, b.v)}; }
  static VecF32 div(VecF32 a, VecF32 b) { return {_mm_div_ps(a.v, b.v)}; }
};

#else  // any other processor: 16-byte groups in plain C++, which compilers turn into NEON and the like

constexpr int kRadix = 8;
constexpr int kTileRows = 5;

template <class T>
struct VecPlain {
  using Scalar = T;
  static constexpr int kWidth = 16 / sizeof(T);
  T v[kWidth];
  template <class Number>
  static VecPlain load(const Number* p) {
    VecPlain r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = p[i];
    return r;
  }
  void store(T* p) const {
    for (int i = 0; i < kWidth; ++i) p[i] = v[i];
  }
  static VecPlain fill(T x) {
    VecPlain r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = x;
    return r;
  }
  static VecPlain min(VecPlain a, VecPlain b) {
    VecPlain r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = a.v[i] < b.v[i] ? a.v[i] : b.v[i];
    return r;
  }
  static VecPlain max(VecPlain a, VecPlain b) {
    VecPlain r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];  // the second of equals, as on x86
    return r;
  }
  static VecPlain add(VecPlain a, VecPlain b) {
    VecPlain r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = a.v[i] + b.v[i];
    return r;
  }
  static VecPlain sub(VecPlain a, VecPlain b) {
    VecPlain r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = a.v[i] - b.v[i];
    return r;
  }
  static VecPlain mul(VecPlain a, VecPlain b) {
    VecPlain r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = a.v[i] * b.v[i];
    return r;
  }
  static VecPlain div(VecPlain a, VecPlain b) {
    VecPlain r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = a.v[i] / b.v[i];
    return r;
  }
  static VecPlain abs(VecPlain a) {
    VecPlain r;
    for (int i = 0; i < kWidth; ++i) r.v[i] = a.v[i] < 0 ? -a.v[i] : a.v[i];
    return r;
  }
};
using VecF64 = VecPlain<double>;
using VecF32 = VecPlain<float>;

#endif

template <class T>
struct VecOf;
template <>
struct VecOf<double> {
  using type = VecF64;
};
template <>
struct VecOf<float> {
  using type = VecF32;
};

}  // namespace ANCHOROT_ISA
