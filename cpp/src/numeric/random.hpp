// random.hpp: the generator splitmix64; the same numbers on all platforms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace hinge {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t bound) {  // bound < 2³²
    return static_cast<std::size_t>(((*this)() >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

template <class T>
void shuffle(T* items, std::size_t count, Random& random) {
  for (std::size_t k = count; k > 1; --k) std::swap(items[k - 1], items[random.below(k)]);
}

}  // namespace hinge
