// libsvm_text.cpp: coverage-guided fuzzer of the reader of LIBSVM's text format.
//
// The first byte selects the options, and the others are the text.  Samples that are read are written and read again;
// both must be identical.  Every exception other than LibsvmError is an error.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hinge/io/libsvm_text.hpp"

namespace {

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

void require(bool condition) {
  if (!condition) std::abort();
}

template <class T>
void check(const char* data, std::size_t size, const hinge::LibsvmOptions& options) {
  const hinge::Parallel serial{1, [] {}};
  hinge::LibsvmRows<T> rows;
  try {
    rows = hinge::read_libsvm<T>({data, size}, options, serial);
  } catch (const hinge::LibsvmError&) {
    return;
  }
  require(rows.length.size() == rows.label.size() && rows.index.size() == rows.value.size());
  require(rows.query.empty() || rows.query.size() == rows.label.size());
  std::string text;
  std::size_t at = 0;
  char number[64];
  for (std::size_t i = 0; i < rows.label.size(); ++i) {
    std::snprintf(number, sizeof number, "%.17g", rows.label[i]);
    text += number;
    if (!rows.query.empty()) text += " qid:" + std::to_string(rows.query[i]);
    std::int64_t previous = -1;
    for (std::int64_t k = 0; k < rows.length[i]; ++k, ++at) {
      require(at < rows.index.size() && rows.index[at] > previous && std::isfinite(static_cast<double>(rows.value[at])));
      previous = rows.index[at];
      std::snprintf(number, sizeof number, " %lld:%.17g", static_cast<long long>(previous) + 1,
                    static_cast<double>(rows.value[at]));
      text += number;
    }
    text += '\n';
  }
  require(at == rows.index.size());
  const hinge::LibsvmRows<T> again = hinge::read_libsvm<T>({text.data(), text.size()}, {}, serial);
  require(same(rows.label, again.label) && same(rows.query, again.query) && same(rows.length, again.length));
  require(same(rows.index, again.index) && same(rows.value, again.value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned mode = data[0];
  hinge::LibsvmOptions options;
  options.zero_based = mode & 1;
  options.strict = mode & 2;
  options.features = mode & 4 ? 100 : -1;
  const char* text = reinterpret_cast<const char*>(data) + 1;
  if (mode & 8)
    check<float>(text, size - 1, options);
  else
    check<double>(text, size - 1, options);
  return 0;
}
