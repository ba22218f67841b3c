// libsvm_text.cpp: see libsvm_text.hpp.
#include "hinge/io/libsvm_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "linear/data/rows.hpp"
#include "parallel/tasks.hpp"

namespace hinge {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;  // text of a task
constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max() - 1;
constexpr std::int64_t kIndexLimit = std::int64_t{1} << 40;  // larger numbers are not distinguished: they are errors
constexpr std::int64_t kExponentLimit = std::int64_t{1} << 56;  // larger exponents are not distinguished
constexpr double kFloatLimit = 3.4028235677973366e38;        // numbers from here on round to an infinite float
constexpr std::ptrdiff_t kMaxQuoted = 40;                    // characters of a word in an error message
constexpr std::int64_t kLinesPerPoll = 256;

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

const char* find(const char* p, const char* end, char c) {
  return p < end ? static_cast<const char*>(std::memchr(p, c, static_cast<std::size_t>(end - p))) : nullptr;
}
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether the decimal number in [p, end), whose digits are not all zero, is at least 1.  It decides between overflow and
// underflow, independently of the locale.
bool is_at_least_one(const char* p, const char* end) {
  std::int64_t exponent = 0;  // of the first nonzero digit
  bool nonzero = false, fraction = false;
  for (; p < end && *p != 'e' && *p != 'E'; ++p) {
    if (*p == '.') {
      fraction = true;
    } else if (is_digit(*p)) {
      if (!nonzero && fraction) --exponent;
      if (nonzero && !fraction) ++exponent;
      nonzero = nonzero || *p != '0';
    }
  }
  if (p < end) {
    const bool negative = ++p < end && *p == '-';
    std::int64_t power = 0;
    for (; p < end; ++p)
      if (is_digit(*p)) power = std::min(10 * power + (*p - '0'), kExponentLimit);
    exponent += negative ? -power : power;
  }
  return exponent >= 0;
}

// Parses a finite decimal number at p; returns its end, or nullptr if there is no finite number.  Mantissas up to 2⁵³
// and powers of ten up to 10²² are exact in double arithmetic (Clinger); other numbers are parsed by from_chars.
const char* read_number(const char* p, const char* end, double& out) {
  const char* start = p;
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  const char* digits = p;
  std::uint64_t mantissa = 0;
  std::ptrdiff_t count = 0, scale = 0;
  for (; p < end && is_digit(*p); ++p, ++count) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p - '0');
  if (p < end && *p == '.') {
    const char* point = ++p;
    for (; p < end && is_digit(*p); ++p, ++count) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*p - '0');
    scale = point - p;
  }
  const bool plain = p == end || (*p != 'e' && *p != 'E');
  if (plain && count > 0 && count <= 18 && mantissa <= (std::uint64_t{1} << 53) && scale >= -22) {
    const double value = static_cast<double>(mantissa) / kPowers[-scale];
    out = negative ? -value : value;
    return p;
  }
  if (digits == end || !(is_digit(*digits) || *digits == '.')) return nullptr;  // "nan", "inf", "+-1"
  const char* from = *start == '+' ? digits : start;
  const auto [last, code] = std::from_chars(from, end, out);
  if (code == std::errc::result_out_of_range) {  // overflow is an error, and numbers that round to zero are zero
    if (is_at_least_one(from, last)) return nullptr;
    out = negative ? -0.0 : 0.0;
    return last;
  }
  return code == std::errc() && std::isfinite(out) ? last : nullptr;
}

template <class T>
struct Chunk {
  LibsvmRows<T> rows;
  std::string error;  // in line rows.lines; empty if the chunk is valid
};

template <class T>
class LineReader {
 public:
  LineReader(const LibsvmOptions& options, LibsvmRows<T>& rows) : options_(options), rows_(rows) {}

  // Parses one line without its end; returns an error message, or an empty string.
  std::string read(const char* p, const char* end) {
    if (const char* hash = find(p, end, '#')) end = hash;
    while (end > p && is_blank(end[-1])) --end;
    while (p < end && is_blank(*p)) ++p;
    if (p == end) return {};
    double label = 0;
    const char* next = read_number(p, end, label);
    if (!next || (next < end && !is_blank(*next))) return bad_label(p, end);
    std::int64_t query = 0, previous = -1;
    bool has_query = false;
    const std::size_t before = rows_.value.size();
    for (p = next; p < end;) {
      while (p < end && is_blank(*p)) ++p;
      if (p == end) break;
      if (end - p > 4 && std::memcmp(p, "qid:", 4) == 0 && rows_.value.size() == before && !has_query) {
        const auto [last, code] = std::from_chars(p + 4, end, query);
        if (code != std::errc() || (last < end && !is_blank(*last))) return word(p, end) + " is not qid:integer";
        has_query = true, p = last;
        continue;
      }
      std::int64_t index = 0;
      const char* q = p;
      for (; q < end && is_digit(*q); ++q) index = std::min(10 * index + (*q - '0'), kIndexLimit);
      if (q == p || q == end || *q != ':') return bad_pair(p, end);
      if (!options_.zero_based) --index;
      if (index < 0) return "index 0 in " + word(p, end) + ": indices start at 1 (or pass zero_based=True)";
      if (index > kMaxIndex) return "the index in " + word(p, end) + " is larger than 2147483647";
      if (options_.features >= 0 && index >= options_.features)
        return "the index in " + word(p, end) + " is larger than n_features=" + std::to_string(options_.features);
      if (index <= previous) return "the index in " + word(p, end) + " does not ascend";
      double value = 0;
      next = read_number(q + 1, end, value);
      if (!next || (next < end && !is_blank(*next))) return "the value in " + word(p, end) + " is not a finite number";
      if (std::is_same_v<T, float> && !(std::fabs(value) < kFloatLimit))
        return "the value in " + word(p, end) + " is too large for float32";
      rows_.index.push_back(static_cast<std::int32_t>(index));
      rows_.value.push_back(static_cast<T>(value));
      previous = index, p = next;
    }
    if (has_query && rows_.query.size() < rows_.label.size()) return "it has a qid, and earlier lines have none";
    if (!has_query && !rows_.query.empty()) return "it has no qid, and earlier lines have one";
    if (has_query) rows_.query.push_back(query);
    rows_.label.push_back(label);
    rows_.length.push_back(static_cast<std::int64_t>(rows_.value.size() - before));
    return {};
  }

 private:
  static std::string word(const char* p, const char* end) {
    const char* q = p;
    while (q < end && !is_blank(*q) && q - p < kMaxQuoted) ++q;
    std::string text = "'";
    for (; p < q; ++p) text += static_cast<unsigned char>(*p) < 32 || static_cast<unsigned char>(*p) > 126 ? '?' : *p;
    return text + "'";
  }
  static std::string bad_label(const char* p, const char* end) {
    for (const char* mark : {"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"})
      if (static_cast<std::size_t>(end - p) >= std::strlen(mark) && std::memcmp(p, mark, std::strlen(mark)) == 0)
        return "it begins with a byte order mark: save the file as plain text (UTF-8 without BOM)";
    return "the label " + word(p, end) + " is not a finite number";
  }
  static std::string bad_pair(const char* p, const char* end) {
    if (*p == '-') return "the index in " + word(p, end) + " is negative";
    return word(p, end) + " is not index:value";
  }

  const LibsvmOptions& options_;
  LibsvmRows<T>& rows_;
};

template <class T>
void read_chunk(const char* p, const char* end, bool last_chunk, const LibsvmOptions& options, Chunk<T>& chunk,
                Poller& poller) {
  const std::size_t bytes = static_cast<std::size_t>(end - p);
  chunk.rows.index.reserve(bytes / 8), chunk.rows.value.reserve(bytes / 8);
  LineReader<T> reader(options, chunk.rows);
  while (p < end) {
    if (chunk.rows.lines++ % kLinesPerPoll == 0) poller.poll();
    const char* stop = find(p, end, '\n');
    if (!stop && options.strict && last_chunk) {
      chunk.error = "it has no line end: the file seems to be cut off (pass strict=False if it is complete)";
      return;
    }
    const char* line_end = stop ? stop : end;
    if (line_end > p && line_end[-1] == '\r') {
      if (options.strict) {
        chunk.error = "it ends with a carriage return (Windows line ends): convert the file, or pass strict=False";
        return;
      }
      --line_end;
    }
    chunk.error = reader.read(p, line_end);
    if (!chunk.error.empty()) return;
    p = stop ? stop + 1 : end;
  }
}

template <class V>
void append(std::vector<V>& all, std::vector<V>& part) {
  all.insert(all.end(), part.begin(), part.end());
  std::vector<V>().swap(part);
}

}  // namespace

template <class T>
LibsvmRows<T> read_libsvm(Span<const char> text, const LibsvmOptions& options, const Parallel& parallel) {
  const char *begin = text.data(), *end = begin + text.size();
  std::vector<const char*> cuts{begin};
  while (cuts.back() < end) {
    const char* p = cuts.back() + std::min<std::size_t>(kChunkBytes, static_cast<std::size_t>(end - cuts.back()));
    const char* stop = find(p, end, '\n');
    cuts.push_back(stop ? stop + 1 : end);
  }
  std::vector<Chunk<T>> chunks(cuts.size() - 1);
  run_tasks(chunks.size(), parallel, [&] {
    return [&](std::size_t c, Poller& poller) {
      read_chunk(cuts[c], cuts[c + 1], c + 1 == chunks.size(), options, chunks[c], poller);
    };
  });
  LibsvmRows<T> all;
  std::size_t values = 0, samples = 0;
  for (const Chunk<T>& chunk : chunks) values += chunk.rows.value.size(), samples += chunk.rows.label.size();
  const auto fail = [&](std::int64_t line, const std::string& error) {
    throw LibsvmError("line " + std::to_string(options.first_line + line - 1) + ": " + error);
  };
  if (chunks.size() > 1) all.index.reserve(values), all.value.reserve(values), all.label.reserve(samples);
  for (Chunk<T>& chunk : chunks) {
    LibsvmRows<T>& part = chunk.rows;
    if (!part.label.empty() && !all.label.empty() && part.query.empty() != all.query.empty())
      fail(all.lines + 1, "either all lines have a qid or none");
    if (chunks.size() == 1 && chunk.error.empty()) return std::move(part);
    all.lines += part.lines;
    if (!chunk.error.empty()) fail(all.lines, chunk.error);
    append(all.label, part.label), append(all.query, part.query), append(all.length, part.length);
    append(all.index, part.index), append(all.value, part.value);
  }
  return all;
}

std::string write_libsvm(const Samples& samples, Span<const double> label, Span<const std::int64_t> query,
                         std::size_t first, std::size_t last, bool zero_based) {
  std::string text;
  char number[64];
  const auto put = [&](auto value) {
    const auto [stop, code] = std::to_chars(number, number + sizeof number, value);
    (void)code;  // 64 characters suffice for all numbers
    text.append(number, stop);
  };
  std::visit(
      [&](const auto& data) {
        using Storage = std::decay_t<decltype(data)>;
        const Rows<Storage> rows(data);
        for (std::size_t i = first; i < last; ++i) {
          put(label[i]);
          if (!query.empty()) text += " qid:", put(query[i]);
          rows.each(i, [&](std::size_t j, double x) {
            if (x == 0) return;
            text += ' ';
            put(j + (zero_based ? 0 : 1));
            text += ':';
            put(static_cast<typename Storage::Value>(x));
          });
          text += '\n';
        }
      },
      samples);
  return text;
}

template LibsvmRows<float> read_libsvm(Span<const char>, const LibsvmOptions&, const Parallel&);
template LibsvmRows<double> read_libsvm(Span<const char>, const LibsvmOptions&, const Parallel&);

}  // namespace hinge
