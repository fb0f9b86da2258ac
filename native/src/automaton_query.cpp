// Questions to a suffix automaton: what follows a match, and where to copy it from.
#include <algorithm>
#include <tuple>

#include "agspec/suffix_automaton.hpp"

namespace agspec {
namespace {

constexpr std::int32_t kGroup = 3;  // Tokens in a group.

}  // namespace

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

// A best-first search. No extension of a substring is more frequent or more recent than the
// substring itself, so the first group that becomes the best of all open states is the answer,
// and rare successors are never followed.
Position SuffixAutomaton::most_frequent_group(StateId state, std::int32_t visit_cap) {
  // Every state ahead is longer than this one. Deferred occurrences concern only states that are
  // no longer than the one they wait at: within a run there is nothing to settle.
  if (deferred_length_ > states_[state].length) settle();
  const auto worse = [](const Visit& a, const Visit& b) {
    return std::tie(a.count, a.start) < std::tie(b.count, b.start);
  };
  Position most_recent = kNoPosition;
  std::int32_t n_visited = 0;
  visits_.clear();
  Visit here{0, kNoPosition, state, 0};
  for (;;) {
    for_each_edge(here.state, [&](StateId target) {
      if (n_visited == visit_cap) return false;
      ++n_visited;
      const State& to = states_[target];
      visits_.push_back({to.count, to.last - here.depth, target, here.depth + 1});
      std::push_heap(visits_.begin(), visits_.end(), worse);
      if (here.depth == 0) most_recent = std::max(most_recent, to.last);
      return true;
    });
    if (visits_.empty()) return most_recent;
    here = visits_.front();
    if (here.depth == kGroup) return here.start;
    std::pop_heap(visits_.begin(), visits_.end(), worse);
    visits_.pop_back();
  }
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
