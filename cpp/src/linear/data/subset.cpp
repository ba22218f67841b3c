// subset.cpp: see the header.
#include "linear/data/subset.hpp"

#include <cstring>

namespace hinge {
namespace {

template <class T>
T* allocate(std::unique_ptr<char[]>& bytes, std::size_t count) {
  bytes.reset(new char[count * sizeof(T)]);  // not initialized: the caller writes every byte
  return reinterpret_cast<T*>(bytes.get());
}

}  // namespace

RowSubset::RowSubset(const Samples& samples, Span<const std::uint32_t> rows) : view_(samples) {
  std::visit(
      [&](auto& view) {
        using Storage = std::decay_t<decltype(view)>;
        using T = typename Storage::Value;
        const Storage from = view;
        if constexpr (IsCsr<Storage>::value) {
          using I = std::decay_t<decltype(from.start[0])>;
          I* start = allocate<I>(start_, rows.size() + 1);
          start[0] = 0;
          for (std::size_t k = 0; k < rows.size(); ++k)
            start[k + 1] = start[k] + (from.start[rows[k] + 1] - from.start[rows[k]]);
          const auto count = static_cast<std::size_t>(start[rows.size()]);
          T* values = allocate<T>(values_, count);
          I* index = allocate<I>(index_, count);
          for (std::size_t k = 0; k < rows.size(); ++k) {
            const auto size = static_cast<std::size_t>(start[k + 1] - start[k]);
            std::memcpy(values + start[k], from.values + from.start[rows[k]], size * sizeof(T));
            std::memcpy(index + start[k], from.index + from.start[rows[k]], size * sizeof(I));
          }
          view = Storage{values, index, start, rows.size(), from.features};
        } else {
          T* values = allocate<T>(values_, rows.size() * from.features);
          for (std::size_t k = 0; k < rows.size(); ++k)
            std::memcpy(values + k * from.features, from.row(rows[k]), from.features * sizeof(T));
          view = Storage{values, rows.size(), from.features};
        }
      },
      view_);
}

ProblemSubset::ProblemSubset(const LinearProblem& whole, Span<const std::uint32_t> rows, double times)
    : problem(whole), target_(rows.size()), lower_(rows.size()), upper_(rows.size()), ridge_(rows.size()) {
  for (std::size_t k = 0; k < rows.size(); ++k) {
    target_[k] = whole.target[rows[k]];
    lower_[k] = times * whole.lower[rows[k]];
    upper_[k] = times * whole.upper[rows[k]];
    ridge_[k] = whole.ridge[rows[k]] / times;
  }
  problem.target = target_, problem.lower = lower_, problem.upper = upper_, problem.ridge = ridge_;
}

}  // namespace hinge
