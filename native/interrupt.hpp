// Long kernels ask now and then, on the thread that called them, whether somebody wants them to end.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>

namespace anchorot {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

using WantsEnd = bool (*)();

// While it lives, check_interrupt() on this thread asks `wants_end`; null asks nobody.
class Listening {
 public:
  explicit Listening(WantsEnd wants_end) : before_(state()) { state() = {wants_end, Clock::now() + kPause}; }
  ~Listening() { state() = before_; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  static void check() {
    State& now = state();
    if (now.wants_end == nullptr || Clock::now() < now.next) return;
    if (now.wants_end()) throw Interrupted();
    now.next = Clock::now() + kPause;
  }

 private:
  using Clock = std::chrono::steady_clock;
  // To ask may mean to wait for the GIL, a few milliseconds where other threads are busy in Python.
  static constexpr std::chrono::milliseconds kPause{100};
  struct State {
    WantsEnd wants_end = nullptr;
    Clock::time_point next;
  };
  static State& state() {
    static thread_local State own;
    return own;
  }
  State before_;
};

// Throws Interrupted if the kernel is to end. Takes some nanoseconds: to be called every few microseconds or more.
inline void check_interrupt() { Listening::check(); }

// body(0), ..., body(count - 1), with a check after every many of them.
template <class Body>
inline void for_each_interruptibly(std::size_t count, Body&& body) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;  // milliseconds of work
  std::size_t i = 0;
  for (; count - i > kBlock; check_interrupt()) {
    for (const std::size_t end = i + kBlock; i < end; ++i) body(i);
  }
  for (; i < count; ++i) body(i);
}

}  // namespace anchorot
