// test_row_cache.cpp: eviction order, memory budget, and exceptions during a fetch.
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cache/row_cache.hpp"
#include "expect.hpp"

namespace {

using namespace hinge;
using namespace hinge::test;

// Row `key` holds 1000·key + column, for the columns in use.
template <class T>
struct Rows {
  RowCache<T> cache;
  std::vector<std::int32_t> columns;
  int fills = 0;

  Rows(std::size_t budget_rows, std::size_t n) : cache(budget_rows * n * sizeof(T), n), columns(n) {
    for (std::size_t k = 0; k < n; ++k) columns[k] = static_cast<std::int32_t>(k);
  }

  T value(std::size_t key, std::size_t position) const {
    return static_cast<T>(1000 * key + static_cast<std::size_t>(columns[position]));
  }

  const T* fetch(std::size_t key) {
    return cache.fetch(key, [&](Span<T> out) {
      ++fills;
      expect(out.size() == columns.size(), "a row has the expected length");
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = value(key, k);
    });
  }

  void expect_correct(std::size_t key, const std::string& when) {
    const T* row = fetch(key);
    for (std::size_t k = 0; k < columns.size(); ++k) expect(row[k] == value(key, k), "the correct row " + when);
  }

  bool holds_exactly(const std::vector<std::size_t>& keys, std::size_t n) const {
    std::vector<bool> expected(n, false);
    for (std::size_t key : keys) expected[key] = true;
    for (std::size_t key = 0; key < n; ++key)
      if (cache.holds(key) != expected[key]) return false;
    return cache.stored() == keys.size();
  }

  void keep(const std::vector<std::int32_t>& positions) {
    std::vector<std::int32_t> kept;
    for (std::int32_t p : positions) kept.push_back(columns[static_cast<std::size_t>(p)]);
    cache.keep_columns(positions);
    columns = kept;
  }
};

template <class T>
void test_least_recently_used_is_evicted() {
  Rows<T> rows(3, 8);
  for (std::size_t key : {0, 1, 2}) rows.fetch(key);
  expect(rows.holds_exactly({0, 1, 2}, 8), "rows within the budget are kept");
  rows.fetch(0);  // row 1 is now the oldest
  rows.fetch(5);
  expect(rows.holds_exactly({0, 2, 5}, 8), "the least recently used row is evicted");
  rows.fetch(2);
  rows.fetch(6);
  expect(rows.holds_exactly({2, 5, 6}, 8), "a hit makes a row recent");
  rows.fetch(6);
  rows.fetch(6);
  rows.fetch(7);
  expect(rows.holds_exactly({2, 6, 7}, 8), "repeated hits count once for the order");
  expect(rows.fills == 6 && rows.cache.misses() == 6 && rows.cache.hits() == 4, "hits and misses are counted");
  for (std::size_t key : {2, 6, 7, 0, 1}) rows.expect_correct(key, "after evictions");
}

void test_budget() {
  for (std::size_t n : {1, 2, 10, 100}) {
    for (std::size_t allowed : {0, 1, 2, 5, 1000}) {
      Rows<double> rows(allowed, n);
      for (std::size_t key = 0; key < n; ++key) rows.fetch(key);
      const std::size_t expected = std::min(n, std::max<std::size_t>(2, allowed));
      expect(rows.cache.stored() == expected, "the number of rows of the budget, but at least two");
    }
  }
  RowCache<float> floats(10 * 8 * sizeof(float), 10);
  RowCache<double> doubles(10 * 8 * sizeof(float), 10);
  for (std::size_t key = 0; key < 10; ++key) {
    floats.fetch(key, [](Span<float>) {});
    doubles.fetch(key, [](Span<double>) {});
  }
  expect(floats.stored() == 8 && doubles.stored() == 4, "the budget is in bytes");
  RowCache<double> huge(std::numeric_limits<std::size_t>::max(), 10);
  for (std::size_t key = 0; key < 10; ++key) huge.fetch(key, [](Span<double>) {});
  expect(huge.stored() == 10, "the largest budget");
}

// A step of SMO needs two rows at a time, also in the smallest cache.
void test_two_rows_stay_valid() {
  Rows<double> rows(0, 30);
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> any(0, 29);
  for (int step = 0; step < 500; ++step) {
    const std::size_t i = any(random), j = any(random);
    const double* row_i = rows.fetch(i);
    const double* row_j = rows.fetch(j);
    bool right = true;
    for (std::size_t k = 0; k < 30; ++k) right = right && row_i[k] == rows.value(i, k) && row_j[k] == rows.value(j, k);
    expect(right, "two rows are valid at a time");
    expect(rows.cache.stored() <= 2, "no more than two rows are stored");
  }
}

void test_keep_columns() {
  Rows<double> rows(4, 10);
  for (std::size_t key : {3, 1, 4, 5}) rows.fetch(key);
  rows.keep({0, 2, 3, 7, 9});
  expect(rows.cache.length() == 5, "rows are shorter");
  const int before = rows.fills;
  for (std::size_t key : {3, 1, 4, 5}) rows.expect_correct(key, "after removing columns");
  expect(rows.fills == before, "rows are not recomputed");
  rows.keep({1, 4});
  for (std::size_t key : {3, 1, 4, 5}) rows.expect_correct(key, "after removing columns twice");
  expect(rows.fills == before, "rows are not recomputed the second time");
  // The budget of 40 doubles holds twenty rows of length two: all ten.
  for (std::size_t key = 0; key < 10; ++key) rows.expect_correct(key, "with shorter rows");
  expect(rows.cache.stored() == 10, "more rows fit if they are shorter");
  rows.keep({});
  expect(rows.cache.length() == 0, "no columns");
  rows.fetch(2);
}

void test_clear() {
  Rows<float> rows(3, 10);
  for (std::size_t key : {0, 1, 2}) rows.fetch(key);
  rows.cache.clear(6);
  rows.columns.resize(6);
  expect(rows.holds_exactly({}, 10) && rows.cache.length() == 6, "the cache is empty after clear");
  for (std::size_t key : {2, 1, 0, 7, 8, 9, 7}) rows.expect_correct(key, "of the new length");
  expect(rows.cache.stored() == 5, "the budget applies to the new length");
  expect(rows.cache.hits() == 1, "a discarded row is not a hit");
}

void test_exceptions_of_fill() {
  const auto fail = [](Span<double>) { throw std::runtime_error("no row"); };
  Rows<double> rows(3, 8);
  expect(throws([&] { rows.cache.fetch(4, fail); }), "an exception reaches the caller");
  expect(rows.holds_exactly({}, 8), "no row is stored after an exception");
  for (std::size_t key : {0, 1, 2}) rows.fetch(key);
  expect(throws([&] { rows.cache.fetch(4, fail); }), "an exception if the cache is full");
  expect(rows.holds_exactly({1, 2}, 8), "the cache remains valid with one row less");
  for (int round = 0; round < 5; ++round) expect(throws([&] { rows.cache.fetch(6, fail); }), "repeated exceptions");
  expect(!rows.cache.holds(6), "a failed row is not stored");
  for (std::size_t key : {4, 5, 6, 1, 2, 0, 7}) rows.expect_correct(key, "after failures");
  expect(rows.holds_exactly({2, 0, 7}, 8), "the order is still correct");
}

// Comparison with a simple list.
void test_any_order_of_calls() {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const std::size_t n = 3 + random() % 12, allowed = random() % 9;
    Rows<float> rows(allowed, n);
    std::vector<std::size_t> order;  // oldest first
    for (int step = 0; step < 300; ++step) {
      const std::size_t key = random() % n;
      const auto found = std::find(order.begin(), order.end(), key);
      if (found != order.end()) order.erase(found);
      else if (order.size() == std::max<std::size_t>(2, allowed)) order.erase(order.begin());
      order.push_back(key);
      rows.expect_correct(key, "in any order");
      expect(rows.holds_exactly(order, n), "the same rows as a list");
    }
  }
}

}  // namespace

int main() {
  test_least_recently_used_is_evicted<double>();
  test_least_recently_used_is_evicted<float>();
  test_budget();
  test_two_rows_stay_valid();
  test_keep_columns();
  test_clear();
  test_exceptions_of_fill();
  test_any_order_of_calls();
  return verdict("test_row_cache");
}
