// test_row_cache.cpp: which rows stay, which go, and that a failed fill leaves the cache usable.
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
      expect(out.size() == columns.size(), "a row is as long as it should be");
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = value(key, k);
    });
  }

  void expect_right(std::size_t key, const std::string& when) {
    const T* row = fetch(key);
    for (std::size_t k = 0; k < columns.size(); ++k) expect(row[k] == value(key, k), "the right row " + when);
  }

  bool holds_exactly(const std::vector<std::size_t>& keys, std::size_t n) const {
    std::vector<bool> wanted(n, false);
    for (std::size_t key : keys) wanted[key] = true;
    for (std::size_t key = 0; key < n; ++key)
      if (cache.holds(key) != wanted[key]) return false;
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
void test_least_recently_used_goes_first() {
  Rows<T> rows(3, 8);
  for (std::size_t key : {0, 1, 2}) rows.fetch(key);
  expect(rows.holds_exactly({0, 1, 2}, 8), "what fits stays");
  rows.fetch(0);  // 1 is the oldest now
  rows.fetch(5);
  expect(rows.holds_exactly({0, 2, 5}, 8), "the least recently used row goes");
  rows.fetch(2);
  rows.fetch(6);
  expect(rows.holds_exactly({2, 5, 6}, 8), "a hit makes a row recent");
  rows.fetch(6);
  rows.fetch(6);
  rows.fetch(7);
  expect(rows.holds_exactly({2, 6, 7}, 8), "many hits are one");
  expect(rows.fills == 6 && rows.cache.misses() == 6 && rows.cache.hits() == 4, "hits and misses are counted");
  for (std::size_t key : {2, 6, 7, 0, 1}) rows.expect_right(key, "after evictions");
}

void test_budget() {
  for (std::size_t n : {1, 2, 10, 100}) {
    for (std::size_t allowed : {0, 1, 2, 5, 1000}) {
      Rows<double> rows(allowed, n);
      for (std::size_t key = 0; key < n; ++key) rows.fetch(key);
      const std::size_t expected = std::min(n, std::max<std::size_t>(2, allowed));
      expect(rows.cache.stored() == expected, "the budget in rows, but two at least");
    }
  }
  RowCache<float> floats(10 * 8 * sizeof(float), 10);
  RowCache<double> doubles(10 * 8 * sizeof(float), 10);
  for (std::size_t key = 0; key < 10; ++key) {
    floats.fetch(key, [](Span<float>) {});
    doubles.fetch(key, [](Span<double>) {});
  }
  expect(floats.stored() == 8 && doubles.stored() == 4, "a budget is in bytes");
  RowCache<double> huge(std::numeric_limits<std::size_t>::max(), 10);
  for (std::size_t key = 0; key < 10; ++key) huge.fetch(key, [](Span<double>) {});
  expect(huge.stored() == 10, "no budget is too large");
}

// A step of SMO: one row must survive the fetch of another, in the smallest cache there is.
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
    expect(rows.cache.stored() <= 2, "and no more are kept");
  }
}

void test_keep_columns() {
  Rows<double> rows(4, 10);
  for (std::size_t key : {3, 1, 4, 5}) rows.fetch(key);
  rows.keep({0, 2, 3, 7, 9});
  expect(rows.cache.length() == 5, "rows are shorter");
  const int before = rows.fills;
  for (std::size_t key : {3, 1, 4, 5}) rows.expect_right(key, "after columns went");
  expect(rows.fills == before, "without being computed again");
  rows.keep({1, 4});
  for (std::size_t key : {3, 1, 4, 5}) rows.expect_right(key, "after columns went twice");
  expect(rows.fills == before, "nor then");
  // 40 doubles are the budget: rows of two leave room for twenty, more than there are
  for (std::size_t key = 0; key < 10; ++key) rows.expect_right(key, "in the room that was won");
  expect(rows.cache.stored() == 10, "shorter rows, more of them");
  rows.keep({});
  expect(rows.cache.length() == 0, "no columns at all");
  rows.fetch(2);
}

void test_clear() {
  Rows<float> rows(3, 10);
  for (std::size_t key : {0, 1, 2}) rows.fetch(key);
  rows.cache.clear(6);
  rows.columns.resize(6);
  expect(rows.holds_exactly({}, 10) && rows.cache.length() == 6, "nothing is held after clear");
  for (std::size_t key : {2, 1, 0, 7, 8, 9, 7}) rows.expect_right(key, "of the new length");
  expect(rows.cache.stored() == 5, "the budget counts the new length");
  expect(rows.cache.hits() == 1, "what was forgotten is no hit");
}

void test_a_fill_that_fails() {
  const auto fail = [](Span<double>) { throw std::runtime_error("no row"); };
  Rows<double> rows(3, 8);
  expect(throws([&] { rows.cache.fetch(4, fail); }), "an exception reaches the caller");
  expect(rows.holds_exactly({}, 8), "and leaves nothing behind");
  for (std::size_t key : {0, 1, 2}) rows.fetch(key);
  expect(throws([&] { rows.cache.fetch(4, fail); }), "an exception when the cache is full");
  expect(rows.holds_exactly({1, 2}, 8), "the cache is as it was, one row shorter");
  for (int round = 0; round < 5; ++round) expect(throws([&] { rows.cache.fetch(6, fail); }), "again and again");
  expect(!rows.cache.holds(6), "a failed row is not held");
  for (std::size_t key : {4, 5, 6, 1, 2, 0, 7}) rows.expect_right(key, "after failures");
  expect(rows.holds_exactly({2, 0, 7}, 8), "and the order still holds");
}

// Against a list that is kept the slow way.
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
      rows.expect_right(key, "in any order");
      expect(rows.holds_exactly(order, n), "the rows a list would hold");
    }
  }
}

}  // namespace

int main() {
  test_least_recently_used_goes_first<double>();
  test_least_recently_used_goes_first<float>();
  test_budget();
  test_two_rows_stay_valid();
  test_keep_columns();
  test_clear();
  test_a_fill_that_fails();
  test_any_order_of_calls();
  return verdict("test_row_cache");
}
