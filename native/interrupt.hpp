// Long kernels check now and then, on the thread that called them, whether they should stop.
#pragma once

#include <cstddef>
#include <exception>

namespace anchorot {

struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

using WantsEnd = bool (*)();

// While it lives, check_interrupt() on this thread asks `wants_end`, every tenth of a second; null asks nobody.
class Listening {
 public:
  explicit Listening(WantsEnd wants_end);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
};

// Throws Interrupted if the kernel is to end. Takes some ten nanoseconds: to be called every few microseconds or more.
void check_interrupt();

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
