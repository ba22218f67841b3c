// tasks.hpp: a list of tasks shared by the threads of a pool.
//
// The list is the same for any number of threads, and so are the results.  The first exception cancels the remaining
// tasks and is rethrown to the caller.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

#include "hinge/parallel.hpp"
#include "parallel/thread_pool.hpp"

namespace hinge {

inline constexpr std::chrono::milliseconds kPollInterval{50};  // time between two calls of Parallel::poll

struct TaskCancelled {};  // thrown by Poller::poll when another task has failed; caught by run_tasks

// Cancellation of a task.  Long tasks call poll() at least every few milliseconds.
class Poller {
 public:
  // `poll` is nullptr except on the calling thread.
  Poller(const std::atomic<bool>& cancelled, const std::function<void()>* poll)
      : cancelled_(cancelled), poll_(poll), last_(Clock::now()) {}

  void poll() {
    if (cancelled_.load(std::memory_order_relaxed)) throw TaskCancelled{};
    if (!poll_) return;
    const auto now = Clock::now();
    if (now - last_ < kPollInterval) return;
    last_ = now;
    (*poll_)();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::atomic<bool>& cancelled_;
  const std::function<void()>* poll_;
  Clock::time_point last_;
};

// Indices 0, 1, ..., count − 1, each handed out once, and the first exception of a task.
class TaskQueue {
 public:
  explicit TaskQueue(std::size_t count) : count_(count) {}

  // Calls work(index) until no index is left.  An exception cancels the queue.
  template <class Work>
  void drain(Work work) noexcept {
    try {
      for (std::size_t i = next_++; i < count_; i = next_++) work(i);
    } catch (const TaskCancelled&) {
    } catch (...) {
      fail();
    }
  }

  // Within a catch block: stores the current exception if it is the first one and cancels the queue.
  void fail() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::current_exception();
    cancelled = true;
  }

  void rethrow_error() const {
    if (error_) std::rethrow_exception(error_);
  }

  std::atomic<bool> cancelled{false};

 private:
  const std::size_t count_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

// Every thread calls make_task() once and the function it returns as task(index, poller), for indices from 0 to count −
// 1. The calling thread takes part; it alone calls parallel.poll.
template <class MakeTask>
void run_tasks(std::size_t count, const Parallel& parallel, MakeTask make_task) {
  if (count == 0) return;
  TaskQueue queue(count);
  const auto work = [&](const std::function<void()>* poll) noexcept {
    try {
      Poller poller(queue.cancelled, poll);
      auto task = make_task();
      queue.drain([&](std::size_t i) {
        poller.poll();
        task(i, poller);
      });
    } catch (...) {  // of make_task
      queue.fail();
    }
  };
  const auto own_work = [&] { work(parallel.poll ? &parallel.poll : nullptr); };
  const std::size_t threads = std::min(count, static_cast<std::size_t>(std::max(1, parallel.threads)));
  if (threads == 1) {
    own_work();
  } else if (parallel.pool) {
    parallel.pool->run(threads - 1, own_work, [&] { work(nullptr); });
  } else {
    ThreadPool(static_cast<int>(threads - 1)).run(threads - 1, own_work, [&] { work(nullptr); });
  }
  queue.rethrow_error();
}

// Calls task(index, cancelled) for indices from 0 to count − 1 on `threads` worker threads, while the calling thread
// calls supervise() every kPollInterval.  If that returns false, `cancelled` becomes true and no further task begins.
// Returns false, without a call of task, if no worker could be started.
template <class Task, class Supervise>
bool run_supervised_tasks(std::size_t count, std::size_t threads, Task task, Supervise supervise) {
  ThreadPool pool(static_cast<int>(threads));
  if (pool.start() == 0) return false;
  TaskQueue queue(count);
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t unfinished = count;
  const auto work = [&]() noexcept {
    queue.drain([&](std::size_t i) {
      if (queue.cancelled) throw TaskCancelled{};
      task(i, static_cast<const std::atomic<bool>&>(queue.cancelled));
      const std::lock_guard<std::mutex> lock(mutex);
      if (--unfinished == 0) changed.notify_one();
    });
    if (!queue.cancelled) return;
    const std::lock_guard<std::mutex> lock(mutex);  // the caller may be about to wait
    changed.notify_one();
  };
  const auto own_work = [&]() noexcept {
    try {
      for (std::unique_lock<std::mutex> lock(mutex);;) {
        if (changed.wait_for(lock, kPollInterval, [&] { return unfinished == 0 || queue.cancelled; })) return;
        lock.unlock();
        if (!supervise()) queue.cancelled = true;
        lock.lock();
      }
    } catch (...) {
      queue.fail();
    }
  };
  pool.run(threads, own_work, work);
  queue.rethrow_error();
  return true;
}

}  // namespace hinge
