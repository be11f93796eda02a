#include "interrupt.hpp"

#include <chrono>

namespace anchorot {
namespace {

using Clock = std::chrono::steady_clock;

// Checking may mean waiting for the GIL, a few milliseconds where other threads are busy in Python.
constexpr std::chrono::milliseconds kPause{100};

struct State {
  WantsEnd wants_end = nullptr;
  Clock::time_point next;
};
thread_local State state;

}  // namespace

Listening::Listening(WantsEnd wants_end) {
  state.wants_end = wants_end;
  if (wants_end != nullptr) state.next = Clock::now() + kPause;
}

Listening::~Listening() { state.wants_end = nullptr; }

void check_interrupt() {
  if (state.wants_end == nullptr || Clock::now() < state.next) return;
  if (state.wants_end()) throw Interrupted();
  state.next = Clock::now() + kPause;
}

}  // namespace anchorot
