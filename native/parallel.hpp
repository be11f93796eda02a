// A loop over independent tasks, on the calling thread and threads - 1 more.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "interrupt.hpp"

namespace anchorot {

constexpr int kMostThreads = 1024;  // more than any machine has a use for

// How many workers parallel_for will use.
inline std::size_t worker_count(std::size_t tasks, int threads) {
  const std::size_t wanted = threads > 1 ? static_cast<std::size_t>(std::min(threads, kMostThreads)) : 1;
  return tasks < wanted ? (tasks > 0 ? tasks : 1) : wanted;
}

// Calls body(task, worker) once for every task; the first exception, or an interrupt between two tasks of the calling
// thread, is passed on to the caller after the other threads have finished theirs.
template <class Body>
void parallel_for(std::size_t tasks, int threads, Body&& body) {
  const std::size_t helpers = worker_count(tasks, threads) - 1;
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_lock;
  auto work = [&](std::size_t worker) {
    try {
      for (std::size_t task = next++; task < tasks; task = next++) {
        check_interrupt();
        body(task, worker);
      }
    } catch (...) {
      next = tasks;
      std::lock_guard<std::mutex> hold(error_lock);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> pool;
  pool.reserve(helpers);
  try {
    for (std::size_t i = 0; i < helpers; ++i) pool.emplace_back(work, i + 1);
  } catch (const std::system_error&) {
    // No more threads are available: the existing ones do all the work.
  }
  work(0);
  for (auto& thread : pool) thread.join();
  if (error) std::rethrow_exception(error);
}

// Let threads take the pages of memory that will be overwritten, each its own, before they write all over it: where
// several meet in a page that is new, each clears one, and all but one of those are thrown away.
inline void take_pages(void* memory, std::size_t bytes, int threads) {
  constexpr std::uintptr_t kLarge = std::uintptr_t{1} << 21, kSmall = 4096;  // bytes of pages
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + bytes;
  const std::size_t tasks = (end - begin / kLarge * kLarge + kLarge - 1) / kLarge;
  if (worker_count(tasks, threads) == 1) return;
  parallel_for(tasks, threads, [&](std::size_t task, std::size_t) {
    const std::uintptr_t page = (begin / kLarge + task) * kLarge;
    for (std::uintptr_t at = std::max(begin, page); at < std::min(end, page + kLarge); at += kSmall) {
      static_cast<char*>(memory)[at - begin] = 0;
    }
  });
}

}  // namespace anchorot
