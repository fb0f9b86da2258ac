// What an automaton keeps beside its structure: how often and where last every substring occurred,
// and which group of tokens followed it most often.
//
// A token is the end of one occurrence of every suffix of the text, and the end of one group behind
// every suffix of the text without the group. Both are walks up the suffix links. In ordinary text
// such a chain has a handful of states. In periodic text it grows with the text, and the walks would
// be quadratic: after `kEagerSteps` the rest of one is deferred and later settled with others.
#include <algorithm>

#include "agspec/suffix_automaton.hpp"

namespace agspec {
namespace {

constexpr int kEagerSteps = 64;
constexpr std::size_t kMinDeferred = 4096;

}  // namespace

// Counts an occurrence at a state and at all suffixes of it; false if the far ones were deferred.
bool SuffixAutomaton::add_occurrence(StateId state, Position position) {
  for (int step = 0; state != kRoot; ++step) {
    State& here = states_[state];
    if (step == kEagerSteps) {
      defer({here.length, state, 1, position});
      deferred_length_ = std::max(deferred_length_, here.length);
      return false;
    }
    ++here.count;
    here.last = position;
    state = here.link;
  }
  return true;
}

// Compares the group that has just followed a state and all suffixes of it with their best ones.
// `group` is a state that ends with the group; its suffix links hold the shorter ones of the
// state's suffixes with the group behind them. False if the chain is too long to be walked now.
//
// Whatever follows a substring is longer than it by a group, so that above `deferred_length_` all
// counts are exact.
bool SuffixAutomaton::add_group(StateId state, StateId group) {
  for (int step = 0; state != kRoot; ++step) {
    State& here = states_[state];
    const std::int32_t length = here.length + kGroup;
    group = holder(group, length);
    if (step == kEagerSteps || length <= deferred_length_) {
      deferred_groups_.push_back({here.length, state, group});
      deferred_length_ = std::max(deferred_length_, length);
      return step < kEagerSteps;
    }
    if (here.best != group) replace_best(here, group);
    state = here.link;
  }
  return true;
}

// Makes a group that has grown the best one of a state, unless another one is still better.
void SuffixAutomaton::replace_best(State& state, StateId group) {
  if (state.best != kNoState) {
    const State& best = states_[holder(state.best, state.length + kGroup)];
    const State& grown = states_[group];
    if (best.count > grown.count) return;
    if (best.count == grown.count && best.last > grown.last) return;
  }
  state.best = group;
}

// The state of the suffix of that length of a state's substrings; it may have been split off.
StateId SuffixAutomaton::holder(StateId state, std::int32_t length) const {
  for (;;) {
    const StateId link = states_[state].link;
    if (states_[link].length < length) return state;
    state = link;
  }
}

bool SuffixAutomaton::too_many_deferred() const {
  // In proportion to the text, since settling them may take as many steps as the text has tokens.
  const std::size_t limit =
      std::max(kMinDeferred, static_cast<std::size_t>(text_.size()) / 16);
  return deferred_.size() >= limit || deferred_groups_.size() >= limit;
}

// Groups are compared when all counts are exact: the best one is the best of those that grew and of
// the one that was best before, whatever the order in which they grew.
bool SuffixAutomaton::settle(std::size_t n_steps) {
  if (!settle_occurrences(n_steps)) return false;
  settle_groups();
  deferred_length_ = 0;
  return true;
}

void SuffixAutomaton::defer(const Deferred& occurrence) {
  deferred_.push_back(occurrence);
  std::push_heap(deferred_.begin(), deferred_.end());
}

// Carries the deferred occurrences up to the root, the longest states first, so that chains that
// meet go on as one: in a run of n tokens that takes n steps, however many were deferred.
bool SuffixAutomaton::settle_occurrences(std::size_t n_steps) {
  while (!deferred_.empty()) {
    if (n_steps-- == 0) return false;
    Deferred sum{0, deferred_.front().state, 0, kNoPosition};
    while (!deferred_.empty() && deferred_.front().state == sum.state) {
      sum.count += deferred_.front().count;
      sum.last = std::max(sum.last, deferred_.front().last);
      std::pop_heap(deferred_.begin(), deferred_.end());
      deferred_.pop_back();
    }
    State& here = states_[sum.state];
    here.count += sum.count;
    here.last = std::max(here.last, sum.last);
    if (here.link != kRoot) {
      defer({states_[here.link].length, here.link, sum.count, sum.last});
    }
  }
  return true;
}

// Carries the deferred groups up to the root in the same way.
void SuffixAutomaton::settle_groups() {
  std::make_heap(deferred_groups_.begin(), deferred_groups_.end());
  while (!deferred_groups_.empty()) {
    const DeferredGroup grown = deferred_groups_.front();
    while (!deferred_groups_.empty() && deferred_groups_.front() == grown) {
      std::pop_heap(deferred_groups_.begin(), deferred_groups_.end());
      deferred_groups_.pop_back();
    }
    State& here = states_[grown.state];
    const StateId group = holder(grown.group, here.length + kGroup);
    if (here.best != group) replace_best(here, group);
    if (here.link == kRoot) continue;
    const std::int32_t length = states_[here.link].length;
    deferred_groups_.push_back({length, here.link, holder(group, length + kGroup)});
    std::push_heap(deferred_groups_.begin(), deferred_groups_.end());
  }
}

}  // namespace agspec
