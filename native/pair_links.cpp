// The alignment of large networks: messages between candidate pairs of nodes alone.
#include "pair_links.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "parallel.hpp"

namespace anchorot {
namespace {

constexpr std::size_t kRows = 16;  // of candidate pairs that one task takes

std::size_t blocks_of(std::size_t rows) { return (rows + kRows - 1) / kRows; }

// Nodes of the second graph that are neighbours of a candidate j of one row, each with a list of (pair, edge (j, l)).
struct Reached {
  struct Entry {
    std::int32_t pair, edge, next;
  };
  std::vector<std::int32_t> head;
  std::vector<Entry> entries;

  explicit Reached(std::size_t nodes) : head(nodes, -1) {}
  void fill(const EdgeView& second, const PairView& pairs, std::size_t i) {
    for (std::int32_t p = pairs.start[i]; p < pairs.start[i + 1]; ++p) {
      const std::int32_t j = pairs.column[p];
      for (std::int32_t f = second.start[j]; f < second.start[j + 1]; ++f) {
        std::int32_t& first = head[second.neighbour[f]];
        entries.push_back({p, f, first});
        first = static_cast<std::int32_t>(entries.size()) - 1;
      }
    }
  }
  void clear(const EdgeView& second) {
    for (const Entry& entry : entries) head[second.neighbour[entry.edge]] = -1;
    entries.clear();
  }
};

// link(pair p, edge e of (i, k), edge f of (j, l), pair q) for every link of every pair, by e and then by f within p
template <class Link>
void for_each_link(const EdgeView& first, const EdgeView& second, const PairView& pairs, int threads, Link&& link) {
  const std::size_t blocks = blocks_of(pairs.rows);
  std::vector<Reached> scratch(worker_count(blocks, threads), Reached(pairs.columns));
  parallel_for(blocks, threads, [&](std::size_t block, std::size_t worker) {
    Reached& reached = scratch[worker];
    for (std::size_t i = block * kRows; i < std::min(pairs.rows, (block + 1) * kRows); ++i) {
      reached.fill(second, pairs, i);
      for (std::int32_t e = first.start[i]; e < first.start[i + 1]; ++e) {
        const std::int32_t k = first.neighbour[e];
        for (std::int32_t q = pairs.start[k]; q < pairs.start[k + 1]; ++q) {
          for (std::int32_t at = reached.head[pairs.column[q]]; at >= 0; at = reached.entries[at].next) {
            link(reached.entries[at].pair, e, reached.entries[at].edge, q);
          }
        }
      }
      reached.clear(second);
    }
  });
}

// Messages that a pair (i, j) receives and sends: w, a, b of each link, and for each edge of j the sum of w a, and 1.
struct Sums {
  std::vector<float> w, a, b, by_second;
};

// Calls edge(begin, end, 1 + sum of w b) for the links of every edge (i, k), which stand together.
template <class Edge>
void for_each_edge(const Sums& own, const std::int32_t* first_edge, Edge&& edge) {
  for (std::size_t from = 0, to; from < own.w.size(); from = to) {
    float total = 1;
    for (to = from; to < own.w.size() && first_edge[to] == first_edge[from]; ++to) total += own.w[to] * own.b[to];
    edge(from, to, total);
  }
}

// Each neighbour is used once: a = 1 / (1 + sum over l' != l of w b), and b alike over k' != k; second[t]: the edge of j.
void settle(Sums& own, const std::int32_t* first_edge, const std::int32_t* second, int rounds) {
  own.b.assign(own.w.size(), 1.0f);
  for (int round = 0; round < rounds; ++round) {
    std::fill(own.by_second.begin(), own.by_second.end(), 1.0f);
    for_each_edge(own, first_edge, [&](std::size_t from, std::size_t to, float total) {
      for (std::size_t t = from; t < to; ++t) {
        own.a[t] = 1.0f / std::max(1.0f, total - own.w[t] * own.b[t]);
        own.by_second[static_cast<std::size_t>(second[t])] += own.w[t] * own.a[t];
      }
    });
    for (std::size_t t = 0; t < own.w.size(); ++t) {
      own.b[t] = 1.0f / std::max(1.0f, own.by_second[static_cast<std::size_t>(second[t])] - own.w[t] * own.a[t]);
    }
  }
}

// log Z = sum_k log(1 + sum_l w b) + sum_l log(1 + sum_k w a) - sum_kl log(1 + w a b), and the messages
float conclude(const Sums& own, const std::int32_t* first_edge, float* messages) {
  double log_sum = 0;
  for_each_edge(own, first_edge, [&](std::size_t, std::size_t, float total) { log_sum += std::log(total); });
  for (const float sum : own.by_second) log_sum += sum > 1.0f ? std::log(sum) : 0.0f;
  for (std::size_t t = 0; t < own.w.size(); ++t) {
    const float both = own.a[t] * own.b[t], odds = 1.0f + own.w[t] * both;
    messages[t] = both / odds;
    log_sum -= std::log(odds);
  }
  return static_cast<float>(log_sum);
}

}  // namespace

void count_links(const EdgeView& first, const EdgeView& second, const PairView& pairs, std::int64_t* counts,
                 int threads) {
  for_each_link(first, second, pairs, threads,
                [&](std::int32_t p, std::int32_t, std::int32_t, std::int32_t) { ++counts[p]; });
}

void link_pairs(const EdgeView& first, const EdgeView& second, const PairView& pairs, const LinkSpan& out,
                int threads) {
  const auto count = static_cast<std::size_t>(pairs.start[pairs.rows]);
  std::vector<std::int64_t> next(out.start, out.start + count);
  for_each_link(first, second, pairs, threads,
                [&](std::int32_t p, std::int32_t e, std::int32_t f, std::int32_t q) {
                  const std::int64_t at = next[p]++;
                  out.target[at] = q;
                  out.first_edge[at] = e;
                  out.second_edge[at] = f;
                });
  parallel_for((count + 1023) / 1024, threads, [&](std::size_t block, std::size_t) {
    for (std::size_t p = block * 1024; p < std::min(count, (block + 1) * 1024); ++p) {
      for (std::int64_t at = out.start[p]; at < out.start[p + 1]; ++at) {
        const std::pair back{first.reverse[out.first_edge[at]], second.reverse[out.second_edge[at]]};
        std::int64_t low = out.start[out.target[at]], high = out.start[out.target[at] + 1];
        while (low < high) {  // links of a pair are in the order of their edges
          const std::int64_t middle = (low + high) / 2;
          const bool is_before = std::pair{out.first_edge[middle], out.second_edge[middle]} < back;
          (is_before ? low : high) = is_before ? middle + 1 : middle;
        }
        out.reverse[at] = static_cast<std::int32_t>(low);
      }
    }
  });
}

void pass_pair_messages(const PairMessageTask& task, int threads) {
  struct Scratch {
    Sums sums;
    std::vector<std::int32_t> second;
  };
  const std::size_t blocks = blocks_of(task.pairs.rows);
  std::vector<Scratch> scratch(worker_count(blocks, threads));
  parallel_for(blocks, threads, [&](std::size_t block, std::size_t worker) {
    auto& [own, second] = scratch[worker];
    const std::size_t last = std::min(task.pairs.rows, (block + 1) * kRows);
    for (std::int32_t p = task.pairs.start[block * kRows]; p < task.pairs.start[last]; ++p) {
      const std::int64_t begin = task.links.start[p];
      const auto count = static_cast<std::size_t>(task.links.start[p + 1] - begin);
      const std::int32_t *first_edge = task.links.first_edge + begin, *second_edge = task.links.second_edge + begin;
      const std::int32_t *target = task.links.target + begin, *reverse = task.links.reverse + begin;
      const std::int32_t j = task.pairs.column[p], edges = task.second.start[j];
      own.w.resize(count), own.a.resize(count), second.resize(count);
      own.by_second.resize(static_cast<std::size_t>(task.second.start[j + 1] - edges));
      for (std::size_t t = 0; t < count; ++t) {
        const float* ratios = task.ratios + static_cast<std::size_t>(task.first.kind[first_edge[t]]) * task.kinds;
        own.w[t] = ratios[task.second.kind[second_edge[t]]] * task.plan[target[t]] * task.free_ends[reverse[t]];
        second[t] = second_edge[t] - edges;
      }
      settle(own, first_edge, second.data(), task.rounds);
      task.evidence[p] = conclude(own, first_edge, task.next_free_ends + begin);
    }
  });
}

}  // namespace anchorot
