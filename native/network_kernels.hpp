// What the alignment of networks spends its time on: products of a sparse and a dense matrix, exponentials, sums of rows,
// and messages between pairs of edges. Sums run in kNetworkLanes lanes,
// so that every instruction set gives the same bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "simd.hpp"
#include "simd_kernels.hpp"

namespace ANCHOROT_ISA {
namespace {

constexpr std::size_t kN = anchorot::kNetworkLanes;
constexpr std::size_t kStrip = anchorot::kNetworkStrip;

// kN numbers that are worked on together.
struct Row {
  static constexpr std::size_t kWidth = sizeof(VecF32) / sizeof(float);
  static constexpr std::size_t kParts = kN / kWidth;
  VecF32 part[kParts];

  static Row fill(float value) {
    Row r;
    for (std::size_t i = 0; i < kParts; ++i) r.part[i] = VecF32::fill(value);
    return r;
  }
  static Row load(const float* p) {
    Row r;
    for (std::size_t i = 0; i < kParts; ++i) r.part[i] = VecF32::load(p + i * kWidth);
    return r;
  }
  void store(float* p) const {
    for (std::size_t i = 0; i < kParts; ++i) part[i].store(p + i * kWidth);
  }
  friend Row operator+(Row a, const Row& b) {
    for (std::size_t i = 0; i < kParts; ++i) a.part[i] = VecF32::add(a.part[i], b.part[i]);
    return a;
  }
  friend Row operator-(Row a, const Row& b) {
    for (std::size_t i = 0; i < kParts; ++i) a.part[i] = VecF32::sub(a.part[i], b.part[i]);
    return a;
  }
  friend Row operator*(Row a, const Row& b) {
    for (std::size_t i = 0; i < kParts; ++i) a.part[i] = VecF32::mul(a.part[i], b.part[i]);
    return a;
  }
  friend Row operator/(Row a, const Row& b) {
    for (std::size_t i = 0; i < kParts; ++i) a.part[i] = VecF32::div(a.part[i], b.part[i]);
    return a;
  }
  static Row larger(Row a, const Row& b) {
    for (std::size_t i = 0; i < kParts; ++i) a.part[i] = VecF32::max(a.part[i], b.part[i]);
    return a;
  }
  Row at_least(float least) const { return larger(*this, fill(least)); }
  float sum() const {
    float s[kN];
    store(s);
    for (std::size_t half = kN / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) s[i] += s[i + half];
    }
    return s[0];
  }
};

// exp of a number up to 0, to 2e-7 of itself; 0 stays 1 and what is below -87 is exp(-87).
inline float exponential(float x) {
  constexpr float kLog2e = 1.44269504088896f, kRound = 12582912.0f;  // adding 1.5 * 2^23 rounds to an integer
  const float clipped = x < -87.0f ? -87.0f : x;
  const float scaled = clipped * kLog2e;
  const float whole = (scaled + kRound) - kRound;
  const float part = scaled - whole;
  float p = 1.535336188319500e-4f;
  p = p * part + 1.339887440266574e-3f;
  p = p * part + 9.618437357674640e-3f;
  p = p * part + 5.550332471162809e-2f;
  p = p * part + 2.402264791363012e-1f;
  p = p * part + 6.931472028550421e-1f;
  p = p * part + 1.0f;
  const std::int32_t bits = (static_cast<std::int32_t>(whole) + 127) << 23;
  return p * std::bit_cast<float>(bits);
}

// log of a positive number, to 1e-7 (Cephes).
inline float logarithm(float x) {
  const std::int32_t bits = std::bit_cast<std::int32_t>(x);
  float mantissa = std::bit_cast<float>((bits & 0x7fffff) | 0x3f800000);
  const bool is_big = mantissa > 1.41421356f;
  mantissa = is_big ? mantissa * 0.5f : mantissa;
  const float exponent = static_cast<float>((bits >> 23) - 127 + (is_big ? 1 : 0));
  const float z = mantissa - 1.0f;
  float y = 7.0376836292e-2f;
  y = y * z - 1.1514610310e-1f;
  y = y * z + 1.1676998740e-1f;
  y = y * z - 1.2420140846e-1f;
  y = y * z + 1.4249322787e-1f;
  y = y * z - 1.6668057665e-1f;
  y = y * z + 2.0000714765e-1f;
  y = y * z - 2.4999993993e-1f;
  y = y * z + 3.3333331174e-1f;
  const float square = z * z;
  return y * z * square - 0.5f * square + z + exponent * 0.693147181f;
}

// sums[lane] += sign * the logarithms of the rows' numbers in that lane; the rows are lost
inline Row add_logarithms(Row sums, float* rows, std::size_t count, float sign) {
  for (std::size_t c = 0; c < count * kN; ++c) rows[c] = sign * logarithm(rows[c]);
  for (std::size_t t = 0; t < count; ++t) sums = sums + Row::load(rows + t * kN);
  return sums;
}

// out[0 .. width) = sum of weight[e] * rows[neighbour[e]][0 .. width)
void add_neighbours(const std::int32_t* neighbour, const float* weight, std::size_t count, const float* rows,
                    std::size_t pitch, std::size_t width, float* out) {
  if (width == kStrip) {
    constexpr std::size_t kParts = kStrip / kN;
    Row sum[kParts];
    for (std::size_t c = 0; c < kParts; ++c) sum[c] = Row::fill(0);
    for (std::size_t e = 0; e < count; ++e) {
      const float* row = rows + static_cast<std::size_t>(neighbour[e]) * pitch;
      const Row w = Row::fill(weight[e]);
      for (std::size_t c = 0; c < kParts; ++c) sum[c] = sum[c] + w * Row::load(row + c * kN);
    }
    for (std::size_t c = 0; c < kParts; ++c) sum[c].store(out + c * kN);
    return;
  }
  for (std::size_t c = 0; c < width; ++c) out[c] = 0;
  for (std::size_t e = 0; e < count; ++e) {
    const float* row = rows + static_cast<std::size_t>(neighbour[e]) * pitch;
    for (std::size_t c = 0; c < width; ++c) out[c] += weight[e] * row[c];
  }
}

// Up to kN rows of X B, through their transposes: out[r][j] = sum over e in row j of B^T of weight[e] * x[r][neighbour[e]].
void multiply_panel(const float* x, std::size_t rows, std::size_t columns, const anchorot::SparseView& transposed,
                    float* out, float* scratch) {
  float* panel = scratch;
  float* sums = scratch + columns * kN;
  const std::size_t width = transposed.rows;
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t r = 0; r < kN; ++r) panel[j * kN + r] = r < rows ? x[r * columns + j] : 0;
  }
  for (std::size_t j = 0; j < width; ++j) {
    Row sum = Row::fill(0);
    for (std::int32_t e = transposed.start[j]; e < transposed.start[j + 1]; ++e) {
      const Row line = Row::load(panel + static_cast<std::size_t>(transposed.neighbour[e]) * kN);
      sum = sum + Row::fill(transposed.weight[e]) * line;
    }
    sum.store(sums + j * kN);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < width; ++j) out[r * width + j] = sums[j * kN + r];
  }
}

float row_sum(const float* row, std::size_t count) {
  Row sum = Row::fill(0);
  std::size_t c = 0;
  for (; c + kN <= count; c += kN) sum = sum + Row::load(row + c);
  float rest = 0;
  for (; c < count; ++c) rest += row[c];
  return sum.sum() + rest;
}

float row_dot(const float* row, const float* other, std::size_t count) {
  Row sum = Row::fill(0);
  std::size_t c = 0;
  for (; c + kN <= count; c += kN) sum = sum + Row::load(row + c) * Row::load(other + c);
  float rest = 0;
  for (; c < count; ++c) rest += row[c] * other[c];
  return sum.sum() + rest;
}

float row_top(const float* row, std::size_t count) {
  float top = row[0];
  if (count >= kN) {
    Row tops = Row::load(row);
    for (std::size_t c = kN; c + kN <= count; c += kN) tops = Row::larger(tops, Row::load(row + c));
    float lanes[kN];
    tops.store(lanes);
    for (const float lane : lanes) top = lane > top ? lane : top;
  }
  for (std::size_t c = count / kN * kN; c < count; ++c) top = row[c] > top ? row[c] : top;
  return top;
}

// plan[j] <- max(least, plan[j] exp(rate (slope[j] - max slope))), then divided by its sum
void tilt_row(float* plan, const float* slope, std::size_t count, float rate, float least) {
  const float top = row_top(slope, count);
  for (std::size_t c = 0; c < count; ++c) {
    const float tilted = plan[c] * exponential(rate * (slope[c] - top));
    plan[c] = tilted > least ? tilted : least;
  }
  const float scale = 1.0f / row_sum(plan, count);
  for (std::size_t c = 0; c < count; ++c) plan[c] *= scale;
}

void add_scaled(float* sums, const float* row, float scale, std::size_t count) {
  for (std::size_t c = 0; c < count; ++c) sums[c] += scale * row[c];
}

void scale_row(float* row, const float* scales, float scale, std::size_t count) {
  for (std::size_t c = 0; c < count; ++c) row[c] *= scale * scales[c];
}

// All messages that node i of the first graph receives and sends; see kernels.hpp.
void pass_messages(const anchorot::MessageTask& task, std::size_t i, float* scratch) {
  const anchorot::EdgeView& first = task.first;
  const anchorot::LaneView& second = task.second;
  const std::size_t begin = static_cast<std::size_t>(first.start[i]);
  const std::size_t degree = static_cast<std::size_t>(first.start[i + 1]) - begin;
  const std::size_t m = task.nodes, width = second.slots * kN;
  float* evidence = task.evidence + i * m;
  const std::size_t block = degree * second.most_slots * kN;
  float *weighted = scratch, *a = weighted + block, *b = a + block, *sums = b + block;
  const Row one = Row::fill(1);
  for (std::size_t g = 0; g < second.groups; ++g) {
    const std::size_t offset = static_cast<std::size_t>(second.start[g]) * kN;
    const std::size_t slots = static_cast<std::size_t>(second.start[g + 1] - second.start[g]);
    // w[k][l] = likelihood ratio of the edges' kinds * P[k][l] * chance that (k, l) needs neither of the two edges
    for (std::size_t q = 0; q < degree; ++q) {
      const std::size_t e = begin + q;
      const float* plan = task.plan + static_cast<std::size_t>(first.neighbour[e]) * m;
      const float* free_ends = task.free_ends + static_cast<std::size_t>(first.reverse[e]) * width;
      const float* ratio = task.ratios + static_cast<std::size_t>(first.kind[e]) * task.kinds;
      float* __restrict w = weighted + q * slots * kN;
      const std::int32_t *kind = second.kind + offset, *neighbour = second.neighbour + offset;
      const std::int32_t* reverse = second.reverse + offset;
      for (std::size_t c = 0; c < slots * kN; ++c) w[c] = ratio[kind[c]] * plan[neighbour[c]] * free_ends[reverse[c]];
    }
    // Each neighbour is used once: a[k][l] = 1 / (1 + sum over l' != l of w b), and b alike over k' != k
    for (std::size_t c = 0; c < degree * slots * kN; ++c) b[c] = 1;
    for (int round = 0; round < task.rounds; ++round) {
      for (std::size_t t = 0; t < slots; ++t) one.store(sums + t * kN);
      for (std::size_t q = 0; q < degree; ++q) {
        const std::size_t row = q * slots * kN;
        Row total = one;
        for (std::size_t t = 0; t < slots; ++t) {
          total = total + Row::load(weighted + row + t * kN) * Row::load(b + row + t * kN);
        }
        for (std::size_t t = 0; t < slots; ++t) {
          const std::size_t at = row + t * kN;
          const Row w = Row::load(weighted + at);
          const Row share = one / (total - w * Row::load(b + at)).at_least(1);
          share.store(a + at);
          (Row::load(sums + t * kN) + w * share).store(sums + t * kN);
        }
      }
      for (std::size_t q = 0; q < degree; ++q) {
        for (std::size_t t = 0; t < slots; ++t) {
          const std::size_t at = (q * slots + t) * kN;
          const Row rest = Row::load(sums + t * kN) - Row::load(weighted + at) * Row::load(a + at);
          (one / rest.at_least(1)).store(b + at);
        }
      }
    }
    // log Z = sum_k log(1 + sum_l w b) + sum_l log(1 + sum_k w a) - sum_kl log(1 + w a b)
    Row log_sum = Row::fill(0);
    log_sum = add_logarithms(log_sum, sums, slots, 1);
    for (std::size_t t = 0; t < slots; ++t) one.store(sums + t * kN);
    for (std::size_t q = 0; q < degree; ++q) {
      const std::size_t row = q * slots * kN;
      float* out = task.next_free_ends + (begin + q) * width + offset;
      Row total = one;
      for (std::size_t t = 0; t < slots; ++t) {
        const std::size_t at = row + t * kN;
        const Row w = Row::load(weighted + at), from_l = Row::load(b + at);
        const Row both = Row::load(a + at) * from_l;
        const Row odds = one + w * both;
        total = total + w * from_l;
        (both / odds).store(out + t * kN);
        (Row::load(sums + t * kN) * odds).store(sums + t * kN);
      }
      total.store(sums + slots * kN);
      log_sum = add_logarithms(log_sum, sums + slots * kN, 1, 1);
      if (q % 4 == 3 || q + 1 == degree) {  // a product of four is far from overflow, and saves three logarithms
        log_sum = add_logarithms(log_sum, sums, slots, -1);
        for (std::size_t t = 0; t < slots; ++t) one.store(sums + t * kN);
      }
    }
    float found[kN];
    log_sum.store(found);
    for (std::size_t x = 0; x < kN; ++x) {
      const std::int32_t j = second.node[g * kN + x];
      if (j >= 0) evidence[j] = found[x];
    }
  }
}

}  // namespace
}  // namespace ANCHOROT_ISA
