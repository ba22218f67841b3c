// arena.hpp: memory for many rows of one length, allocated in blocks of up to 16 MB and released all at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cache/huge_pages.hpp"

namespace hinge {

template <class T>
class Arena {
 public:
  explicit Arena(std::size_t length) { reshape(length); }

  // Discards all rows and sets the length of new ones.  Allocated memory is reused.
  void reshape(std::size_t length) {
    stride_ = std::max<std::size_t>(16, (length + 15) / 16 * 16);
    current_ = used_ = 0;
  }

  T* row() {
    while (current_ < blocks_.size() && used_ + stride_ > blocks_[current_].size()) ++current_, used_ = 0;
    if (current_ == blocks_.size()) grow();
    T* const out = blocks_[current_].data() + used_;
    used_ += stride_;
    return out;
  }

 private:
  static constexpr std::size_t kFirstBlock = (1 << 16) / sizeof(T);                // values of the first block
  static constexpr std::size_t kMaxBlock = (std::size_t(16) << 20) / sizeof(T);  // block sizes double up to this

  void grow() {
    const std::size_t size = blocks_.empty() ? kFirstBlock : std::min(kMaxBlock, 2 * blocks_.back().size());
    blocks_.emplace_back(std::max(size, stride_));
    used_ = 0;
  }

  std::size_t stride_ = 0, current_ = 0, used_ = 0;
  std::vector<Pages<T>> blocks_;
};

}  // namespace hinge
