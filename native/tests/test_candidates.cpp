#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "agspec/candidates.hpp"
#include "agspec/largest.hpp"
#include "agspec/verify.hpp"
#include "check.hpp"

namespace {

using agspec::Candidate;
using agspec::Token;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_row(std::mt19937& random, std::size_t n, int kind) {
  std::vector<float> row(n);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  for (float& value : row) {
    // Kind 0 has ties everywhere; the others are rows like a model's.
    value = kind == 0 ? static_cast<float>(random() % 4) : normal(random);
    if (kind == 2 && random() % 3 == 0) value = kNan;
    if (kind == 3 && random() % 3 == 0) value = -kInf;
  }
  return row;
}

void every_variant_finds_the_largest_at_every_length() {
  std::mt19937 random(5);
  CHECK(!agspec::largest_variants().empty());
  for (std::size_t n = 0; n < 300; ++n) {
    for (int kind = 0; kind < 4; ++kind) {
      const std::vector<float> row = random_row(random, n, kind);
      const float expected = agspec::largest_scalar(row.data(), n);
      CHECK(agspec::largest(row.data(), n) == expected);
      for (const auto& variant : agspec::largest_variants()) {
        CHECK(variant.run(row.data(), n) == expected);
        // Rows need not begin at a multiple of a register's width.
        if (n > 1) {
          CHECK(variant.run(row.data() + 1, n - 1) ==
                agspec::largest_scalar(row.data() + 1, n - 1));
        }
      }
    }
  }
}

void the_largest_logit_is_found_at_every_place() {
  for (std::size_t n = 1; n < 200; ++n) {
    for (std::size_t at = 0; at < n; ++at) {
      std::vector<float> row(n, -kInf);
      row[at] = -3.0f;
      CHECK(agspec::argmax(row) == static_cast<Token>(at));
      if (at + 1 < n) row[n - 1] = -3.0f;  // A tie: the lowest id.
      CHECK(agspec::argmax(row) == static_cast<Token>(at));
      row[n / 2] = kNan;
      CHECK(agspec::argmax(row) == agspec::argmax_scalar(row));
      for (const auto& variant : agspec::largest_variants()) {
        CHECK(agspec::argmax(row, variant.run) == agspec::argmax_scalar(row));
      }
    }
  }
}

// The n largest after `shift` was added to those of `always`, with all ties of the last.
std::vector<Token> best_of(std::vector<float> row, std::size_t n, const std::vector<Token>& always,
                           float shift) {
  for (const Token id : always) row[static_cast<std::size_t>(id)] += shift;
  std::vector<float> values;
  for (const float value : row) {
    if (!std::isnan(value)) values.push_back(value);
  }
  std::sort(values.begin(), values.end(), std::greater<>());
  if (values.empty()) return {};
  const float last = values[std::min(n, values.size()) - 1];
  std::vector<Token> best;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] > last) best.push_back(static_cast<Token>(i));
  }
  return best;
}

void the_best_are_among_the_candidates_whatever_is_added_to_the_given() {
  std::mt19937 random(7);
  for (const std::size_t size : {1UL, 5UL, 63UL, 64UL, 65UL, 1000UL, 9000UL}) {
    for (int round = 0; round < 80; ++round) {
      const std::vector<float> row = random_row(random, size, round % 4);
      const std::size_t n = 1 + random() % 60;
      std::vector<Token> always(random() % 20);
      for (Token& id : always) id = static_cast<Token>(random() % size);
      std::vector<Candidate> out(size);
      const std::size_t n_out = agspec::top_candidates(row, n, always, out);
      CHECK(n_out <= size);
      std::vector<Token> ids;
      for (std::size_t i = 0; i < n_out; ++i) {
        CHECK(out[i].logit == row[static_cast<std::size_t>(out[i].id)] && out[i].p == 0.0f);
        ids.push_back(out[i].id);
      }
      CHECK(std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end());
      const auto has = [&](Token id) { return std::binary_search(ids.begin(), ids.end(), id); };
      for (const Token id : always) {
        CHECK(has(id) || std::isnan(row[static_cast<std::size_t>(id)]));
      }
      std::sort(always.begin(), always.end());
      always.erase(std::unique(always.begin(), always.end()), always.end());
      for (const float shift : {0.0f, 50.0f, -50.0f, -kInf}) {
        for (const Token id : best_of(row, n, always, shift)) CHECK(has(id));
      }
    }
  }
}

void few_candidates_are_left_of_a_large_row() {
  std::mt19937 random(9);
  const std::vector<float> row = random_row(random, 150'000, 1);
  std::vector<Candidate> out(row.size());
  CHECK(agspec::top_candidates(row, 40, {}, out) < 80);
}

}  // namespace

int main() {
  every_variant_finds_the_largest_at_every_length();
  the_largest_logit_is_found_at_every_place();
  the_best_are_among_the_candidates_whatever_is_added_to_the_given();
  few_candidates_are_left_of_a_large_row();
}
