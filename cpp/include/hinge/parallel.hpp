// parallel.hpp: a fixed list of tasks shared by a few threads.  The calling thread works too, and it alone
// polls. Tasks are the same whatever the number of threads, so results are too.  The first exception stops
// everybody and is rethrown to the caller.  Starting a thread costs some 30 µs: one task means no thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace hinge {

struct Parallel {
  int threads = 1;
  std::function<void()> poll;  // called on the calling thread at most every 50 ms; throws to stop
};

struct Stopped {};  // thrown by Pulse::beat in a worker when another has failed; never leaves this file

// What a task calls now and then, at least every few milliseconds.
class Pulse {
 public:
  Pulse(const std::atomic<bool>& stop, const std::function<void()>* poll)
      : stop_(stop), poll_(poll), last_(Clock::now()) {}

  void beat() {
    if (stop_.load(std::memory_order_relaxed)) throw Stopped{};
    if (!poll_) return;
    const auto now = Clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    (*poll_)();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::atomic<bool>& stop_;
  const std::function<void()>* poll_;
  Clock::time_point last_;
};

// Each thread calls make_task() once and then the task it got as task(index, pulse), indices from 0 to count
// - 1.
template <class MakeTask>
void run_tasks(std::size_t count, const Parallel& parallel, MakeTask make_task) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex guard;
  const auto work = [&](const std::function<void()>* poll) noexcept {
    try {
      Pulse pulse(stop, poll);
      auto task = make_task();
      for (std::size_t i = next++; i < count; i = next++) {
        pulse.beat();
        task(i, pulse);
      }
    } catch (const Stopped&) {
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t threads = std::min(count, static_cast<std::size_t>(std::max(1, parallel.threads)));
  try {
    helpers.reserve(threads);
    for (std::size_t t = 1; t < threads; ++t) helpers.emplace_back(work, nullptr);
  } catch (const std::system_error&) {  // no more threads to be had: those there are will do
  }
  work(parallel.poll ? &parallel.poll : nullptr);
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace hinge
