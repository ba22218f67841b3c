// parallel.hpp: threads and cancellation of a call.
#pragma once

#include <functional>

namespace hinge {

class ThreadPool;

// How a call may use threads.  Results do not depend on it: the division of work into tasks is fixed by the data.
struct Parallel {
  int threads = 1;             // including the calling thread
  std::function<void()> poll;  // called on the calling thread about every 50 ms; throws to cancel the call
  ThreadPool* pool = nullptr;  // threads to use; without a pool each parallel loop starts its own
};

}  // namespace hinge
