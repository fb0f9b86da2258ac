#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "agspec/verify.hpp"
#include "check.hpp"

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

void both_versions_choose_the_same() {
  std::mt19937 random(3);
  for (const std::size_t n : {1UL, 2UL, 31UL, 32UL, 33UL, 2047UL, 2048UL, 2049UL, 10'000UL}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<float> row(n);
      // Few distinct values, so that ties are the rule; some NaN and infinities.
      for (float& value : row) value = static_cast<float>(random() % 5);
      if (round % 5 == 1) row[random() % n] = kNan;
      if (round % 5 == 2) row[random() % n] = kInf;
      if (round % 5 == 3) row[0] = kNan;
      CHECK(agspec::argmax(row) == agspec::argmax_scalar(row));
    }
  }
}

void a_row_without_a_number_gives_token_0() {
  CHECK(agspec::argmax(std::vector<float>(100, kNan)) == 0);
  CHECK(agspec::argmax(std::vector<float>(100, -kInf)) == 0);
  CHECK(agspec::argmax_scalar(std::vector<float>(100, kNan)) == 0);
}

void verification_stops_at_the_first_rejection() {
  const std::vector<float> logits{0, 9, 0,  9, 0, 0,  0, 0, 9,  0, 9, 0};
  const auto verify = [&](const std::vector<agspec::Token>& draft) {
    return agspec::greedy_verify(logits.data(), 3, draft);
  };
  const auto is = [](agspec::Verdict verdict, std::size_t n_accepted, agspec::Token bonus) {
    return verdict.n_accepted == n_accepted && verdict.bonus == bonus;
  };
  CHECK(is(verify({1, 0, 2}), 3, 1));
  CHECK(is(verify({1, 2, 2}), 1, 0));
  CHECK(is(verify({0, 0, 2}), 0, 1));
  CHECK(is(verify({}), 0, 1));
}

void rows_behind_a_rejection_are_not_read() {
  // The sanitizer build sees a read beyond this single row.
  const std::vector<float> logits{0, 1};
  const std::vector<agspec::Token> draft{0, 1, 1};
  CHECK(agspec::greedy_verify(logits.data(), 2, draft).n_accepted == 0);
}

void the_callback_sees_the_flag() {
  agspec::CancelFlag flag;
  CHECK(!agspec::agspec_cancel_requested(&flag));
  flag.set();
  CHECK(agspec::agspec_cancel_requested(&flag));
  flag.clear();
  CHECK(!agspec::agspec_cancel_requested(&flag));
}

}  // namespace

int main() {
  both_versions_choose_the_same();
  a_row_without_a_number_gives_token_0();
  verification_stops_at_the_first_rejection();
  rows_behind_a_rejection_are_not_read();
  the_callback_sees_the_flag();
}
