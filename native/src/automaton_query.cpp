// Questions to a suffix automaton: what follows a match, and where to copy it from.
#include <algorithm>

#include "agspec/suffix_automaton.hpp"

namespace agspec {

Position SuffixAutomaton::last_end(StateId state) {
  if (deferred_length_ >= states_[state].length) settle();
  return states_[state].last;
}

std::int32_t SuffixAutomaton::count(StateId state) {
  if (deferred_length_ >= states_[state].length) settle();
  return states_[state].count;
}

template <typename Function>
void SuffixAutomaton::for_each_edge(StateId state, Function&& function) const {
  const State& from = states_[state];
  if (from.target == kNoState) return;
  if (!function(from.target)) return;
  for (std::int32_t edge = from.spill; edge >= 0; edge = edges_[edge].next) {
    if (!function(edges_[edge].target)) return;
  }
}

// The state that ends with the most frequent group behind a state; kNoState if no group follows.
StateId SuffixAutomaton::best_group(StateId state) {
  // Every state ahead is longer than this one. Deferred occurrences concern only states that are
  // no longer than the one they wait at: within a run there is nothing to settle.
  if (deferred_length_ > states_[state].length) settle();
  State& here = states_[state];
  if (here.best != kNoState) here.best = holder(here.best, here.length + kGroup);
  return here.best;
}

std::int32_t SuffixAutomaton::group_count(StateId state) {
  const StateId group = best_group(state);
  return group == kNoState ? 0 : states_[group].count;
}

Position SuffixAutomaton::most_frequent_group(StateId state, std::int32_t visit_cap) {
  const StateId group = best_group(state);
  if (group != kNoState) return states_[group].last - (kGroup - 1);
  Position most_recent = kNoPosition;
  for_each_edge(state, [&](StateId target) {
    if (--visit_cap < 0) return false;
    most_recent = std::max(most_recent, states_[target].last);
    return true;
  });
  return most_recent;
}

std::vector<Token> SuffixAutomaton::copy(Position start, std::int32_t k,
                                         bool self_reference) const {
  std::vector<Token> copied;
  if (start < 0 || start >= text_.size() || k <= 0) return copied;
  const std::int32_t room = self_reference ? k : std::min(k, text_.size() - start);
  copied.reserve(static_cast<std::size_t>(room));
  for (std::int32_t i = 0; i < room; ++i) {
    const std::int32_t beyond = start + i - text_.size();
    const Token token = beyond < 0 ? text_[start + i] : copied[static_cast<std::size_t>(beyond)];
    if (is_separator(token)) break;
    copied.push_back(token);
  }
  return copied;
}

}  // namespace agspec
