// columns.hpp: scaled copies of the features of working sets, by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hinge/kernels/samples.hpp"
#include "hinge/span.hpp"

namespace hinge {

// Nonzero values of one feature, multiplied by the scales of their samples.
struct Column {
  const std::uint32_t* index;
  const double* value;
  std::size_t size;
};

// Columns that have been copied remain until the end of the run.
class Columns {
 public:
  // Views only.  Rows are multiplied by `scale`.
  Columns(const Samples& samples, Span<const double> scale);

  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t slot(std::size_t feature) const { return slot_[feature]; }  // kNone if it was not copied

  // Copies these features, none of which was copied before, in one pass over the samples.
  // Throws std::invalid_argument if the squared norm of a column is not finite.
  void copy(const std::vector<std::uint32_t>& features);

  Column column(std::uint32_t slot) const {
    return {index_.data() + start_[slot], value_.data() + start_[slot], start_[slot + 1] - start_[slot]};
  }
  double squared_norm(std::uint32_t slot) const { return squared_norm_[slot]; }

 private:
  const Samples& samples_;
  Span<const double> scale_;
  std::vector<std::uint32_t> slot_;    // of every feature
  std::vector<std::size_t> start_{0};  // of every slot
  std::vector<std::uint32_t> index_;
  std::vector<double> value_, squared_norm_;
};

}  // namespace hinge
