// arena.hpp: memory for many rows of one length, taken in pieces of some megabytes and given back all at once.
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

  // Forget all rows; from now on they have this length.  Memory that is there is used again.
  void reshape(std::size_t length) {
    stride_ = std::max<std::size_t>(16, (length + 15) / 16 * 16);
    current_ = used_ = 0;
  }

  T* row() {
    while (current_ < pieces_.size() && used_ + stride_ > pieces_[current_].size()) ++current_, used_ = 0;
    if (current_ == pieces_.size()) grow();
    T* const out = pieces_[current_].data() + used_;
    used_ += stride_;
    return out;
  }

 private:
  static constexpr std::size_t kPiece = (std::size_t(16) << 20) / sizeof(T), kSmall = (1 << 16) / sizeof(T);

  // Pieces double up to their full size: a small problem takes little.
  void grow() {
    const std::size_t wanted = pieces_.empty() ? kSmall : std::min(kPiece, 2 * pieces_.back().size());
    pieces_.emplace_back(std::max(wanted, stride_));
    used_ = 0;
  }

  std::size_t stride_ = 0, current_ = 0, used_ = 0;
  std::vector<Pages<T>> pieces_;
};

}  // namespace hinge
