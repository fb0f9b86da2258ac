#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "agspec/suffix_automaton.hpp"
#include "check.hpp"

namespace {

using agspec::Position;
using agspec::SuffixAutomaton;
using agspec::Token;
using Text = std::vector<Token>;

std::int32_t match_length(const Text& text) {
  const auto n = static_cast<std::int32_t>(text.size());
  std::int32_t best = 0;
  for (Position end = 0; end + 1 < n; ++end) {
    std::int32_t m = 0;
    while (m <= end && text[end - m] >= 0 && text[end - m] == text[n - 1 - m]) ++m;
    best = std::max(best, m);
  }
  return best;
}

// Where to copy from, by looking at every occurrence of the last `m` tokens.
Position group_start(const Text& text, std::int32_t m) {
  const auto n = static_cast<std::int32_t>(text.size());
  std::map<Text, std::pair<int, Position>> groups;
  Position most_recent = agspec::kNoPosition;
  for (Position end = m - 1; end + 1 < n; ++end) {
    if (!std::equal(text.begin() + end + 1 - m, text.begin() + end + 1, text.end() - m)) continue;
    if (text[end + 1] >= 0) most_recent = end + 1;
    if (end + 3 >= n) continue;
    const Text group(text.begin() + end + 1, text.begin() + end + 4);
    if (std::any_of(group.begin(), group.end(), agspec::is_separator)) continue;
    auto& [count, last] = groups[group];
    ++count;
    last = end + 1;
  }
  std::pair<int, Position> best{0, most_recent};
  for (const auto& [group, found] : groups) best = std::max(best, found);
  return best.second;
}

void equals_brute_force_on_random_texts() {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const int alphabet = 1 + static_cast<int>(random() % 4);
    SuffixAutomaton automaton;
    Text text;
    for (int i = 0; i < 60; ++i) {
      const bool separator = random() % 12 == 0;
      text.push_back(separator ? -1 - i : static_cast<Token>(random() % alphabet));
      automaton.append(text.back());
      const std::int32_t m = automaton.match_length();
      CHECK(m == match_length(text));
      if (m == 0) continue;
      CHECK(automaton.most_frequent_group(automaton.match_state()) == group_start(text, m));
    }
    CHECK(automaton.check_integrity().empty());
  }
}

// Long link chains, so that occurrences are deferred and settled.
void stays_exact_in_periodic_texts() {
  std::mt19937 random(11);
  for (int round = 0; round < 12; ++round) {
    const int period = 1 + round % 3;
    SuffixAutomaton automaton;
    Text text;
    for (int i = 0; i < 700; ++i) {
      const Token token = random() % 150 == 0 ? (random() % 2 ? 9 : -1) : i % period;
      text.push_back(token);
      automaton.append(token);
      if (i % 7 != 0) continue;
      const std::int32_t m = automaton.match_length();
      CHECK(m == match_length(text));
      if (i % 140 == 0) CHECK(automaton.check_integrity().empty());
      if (m == 0) continue;
      CHECK(automaton.most_frequent_group(automaton.match_state()) == group_start(text, m));
    }
    CHECK(automaton.check_integrity().empty());
  }
}

void a_run_of_one_token_takes_linear_time() {
  const auto start = std::chrono::steady_clock::now();
  SuffixAutomaton automaton;
  for (int i = 0; i < 200'000; ++i) {
    automaton.append(5);
    if (automaton.match_length() > 0) automaton.most_frequent_group(automaton.match_state());
  }
  automaton.append(6);
  CHECK(automaton.count(automaton.next(agspec::kRoot, 5)) == 200'000);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

void a_copy_reads_its_own_tokens_and_stops_at_separators() {
  SuffixAutomaton automaton;
  automaton.append(Text{1, 2, -1, 7, 8});
  CHECK((automaton.copy(3, 5, true) == Text{7, 8, 7, 8, 7}));
  CHECK((automaton.copy(3, 5, false) == Text{7, 8}));
  CHECK((automaton.copy(0, 5, true) == Text{1, 2}));
  CHECK(automaton.copy(2, 5, true).empty());
  CHECK(automaton.copy(5, 5, true).empty());
  CHECK(automaton.copy(agspec::kNoPosition, 5, true).empty());
  CHECK(automaton.copy(0, 0, true).empty());
}

void equal_documents_share_their_states() {
  SuffixAutomaton automaton;
  const Text document{4, 1, 4, 2, 1, 3};
  automaton.append(document);
  const auto n_states = automaton.n_states();
  automaton.append(-1);
  automaton.append(document);
  CHECK(automaton.n_states() == n_states);
  CHECK(automaton.match_length() == 6);
  CHECK(automaton.first_end(automaton.match_state()) == 5);
  CHECK(automaton.last_end(automaton.match_state()) == 12);
}

// Documents of two tokens: nothing is followed by a group.
void without_a_group_the_visit_cap_bounds_the_search() {
  SuffixAutomaton automaton;
  for (Token i = 1; i <= 50; ++i) automaton.append(Text{0, i, -i});
  automaton.append(0);
  const auto state = automaton.match_state();
  CHECK(automaton.most_frequent_group(state) == 148);
  CHECK(automaton.most_frequent_group(state, 1) != agspec::kNoPosition);
  CHECK(automaton.most_frequent_group(state, 0) == agspec::kNoPosition);
  automaton.append(Text{1, 1, 1, -99, 0});
  CHECK(automaton.most_frequent_group(automaton.match_state(), 0) == 151);
}

Text fibonacci_word(std::size_t n) {
  Text shorter{1}, word{1, 2};
  while (word.size() < n) {
    Text longer = word;
    longer.insert(longer.end(), shorter.begin(), shorter.end());
    shorter = std::exchange(word, std::move(longer));
  }
  word.resize(n);
  return word;
}

// Runs that begin anew before they are settled, nested periods, and words without long runs.
void stays_exact_in_adversarial_texts() {
  std::vector<Text> texts{fibonacci_word(900)};
  Text runs, nested, halves;
  for (int length = 60; length < 140; length += 9) {
    runs.insert(runs.end(), static_cast<std::size_t>(length), 1);
    runs.push_back(length % 4);
    nested.insert(nested.end(), static_cast<std::size_t>(length % 7), 1);
    nested.push_back(2);
  }
  const Text once = nested;
  while (nested.size() < 900) nested.insert(nested.end(), once.begin(), once.end());
  for (int i = 0; i < 900; ++i) halves.push_back(i % (i / 150 + 1));
  texts.insert(texts.end(), {runs, nested, halves});
  for (const Text& text : texts) {
    SuffixAutomaton automaton;
    Text read;
    for (const Token token : text) {
      read.push_back(token);
      automaton.append(token);
      if (read.size() % 97 == 0) CHECK(automaton.check_integrity().empty());
      const std::int32_t m = automaton.match_length();
      if (m == 0 || read.size() % 7 != 0) continue;
      CHECK(automaton.most_frequent_group(automaton.match_state()) == group_start(read, m));
    }
    CHECK(automaton.check_integrity().empty());
  }
}

}  // namespace

int main() {
  equals_brute_force_on_random_texts();
  stays_exact_in_periodic_texts();
  a_run_of_one_token_takes_linear_time();
  a_copy_reads_its_own_tokens_and_stops_at_separators();
  equal_documents_share_their_states();
  without_a_group_the_visit_cap_bounds_the_search();
  stays_exact_in_adversarial_texts();
}
