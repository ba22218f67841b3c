// libsvm_text.hpp: LIBSVM's text format, "label [qid:q] index:value ... [# comment]", one sample per line.
// A malformed line raises LibsvmError with its number.  Chunks of the text are parsed in parallel; the result does not
// depend on the number of threads.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "hinge/kernels/samples.hpp"
#include "hinge/parallel.hpp"
#include "hinge/span.hpp"

namespace hinge {

struct LibsvmOptions {
  bool zero_based = false;
  bool strict = true;             // false: accept Windows line ends and a last line without an end
  std::int64_t features = -1;     // >= 0: larger indices are an error
  std::int64_t first_line = 1;    // number of the first line of the text, for messages
};

class LibsvmError : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

template <class T>
struct LibsvmRows {
  std::vector<double> label;
  std::vector<std::int64_t> query;   // one per sample, or empty if no line has a qid
  std::vector<std::int64_t> length;  // number of values of each sample
  std::vector<std::int32_t> index;   // from 0
  std::vector<T> value;
  std::int64_t lines = 0;
};

template <class T>
LibsvmRows<T> read_libsvm(Span<const char> text, const LibsvmOptions& options, const Parallel& parallel);

// Rows [first, last) as text.  Numbers have the fewest digits with which they are read back bit-identically.
std::string write_libsvm(const Samples& samples, Span<const double> label, Span<const std::int64_t> query,
                         std::size_t first, std::size_t last, bool zero_based);

extern template LibsvmRows<float> read_libsvm(Span<const char>, const LibsvmOptions&, const Parallel&);
extern template LibsvmRows<double> read_libsvm(Span<const char>, const LibsvmOptions&, const Parallel&);

}  // namespace hinge
