// The integrity check: every figure again, the slow and obvious way.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "agspec/suffix_automaton.hpp"

namespace agspec {
namespace {

std::string fault(const char* what, StateId state) {
  return std::string(what) + " at state " + std::to_string(state);
}

}  // namespace

std::string SuffixAutomaton::check_integrity() {
  settle();
  std::string found = check_structure();
  if (found.empty()) found = check_occurrences();
  return found.empty() && keep_ == Keep::kGroups ? check_groups() : found;
}

std::string SuffixAutomaton::check_structure() const {
  std::int32_t n_spilled = 0;
  for (StateId state = 0; state < states_.size(); ++state) {
    const State& here = states_[state];
    if (state != kRoot && states_[here.link].length >= here.length) {
      return fault("a suffix link does not lead to a shorter state", state);
    }
    if (here.target == kNoState && here.spill >= 0) {
      return fault("edges were spilled although the inline edge is free", state);
    }
    if (here.target != kNoState && states_[here.target].length <= here.length) {
      return fault("an edge does not lead to a longer state", state);
    }
    for (std::int32_t edge = here.spill; edge >= 0; edge = edges_[edge].next) {
      ++n_spilled;
      if (edges_[edge].state != state) return fault("an edge is in a foreign list", state);
      if (next(state, edges_[edge].token) != edges_[edge].target) {
        return fault("an edge is not found by its token", state);
      }
    }
  }
  return n_spilled == edges_.size() ? "" : "edges are lost";
}

std::string SuffixAutomaton::check_occurrences() const {
  const auto n = static_cast<std::size_t>(states_.size());
  std::vector<std::int32_t> count(n, 0);
  std::vector<Position> first(n, text_.size());
  std::vector<Position> last(n, kNoPosition);
  StateId here = kRoot;
  for (Position position = 0; position < text_.size(); ++position) {
    if (is_separator(text_[position])) {
      here = kRoot;
      continue;
    }
    here = next(here, text_[position]);
    if (here == kNoState) return "position " + std::to_string(position) + " cannot be read";
    const auto i = static_cast<std::size_t>(here);
    ++count[i];
    first[i] = std::min(first[i], position);
    last[i] = position;
  }
  if (here != last_) return fault("the last state is not that of the text", last_);
  std::vector<StateId> order(n);
  std::iota(order.begin(), order.end(), kRoot);
  std::sort(order.begin(), order.end(),
            [this](StateId a, StateId b) { return states_[a].length > states_[b].length; });
  for (const StateId state : order) {
    if (state == kRoot) continue;
    const State& stored = states_[state];
    const auto i = static_cast<std::size_t>(state);
    const auto up = static_cast<std::size_t>(stored.link);
    if (stored.count != count[i]) return fault("a count is wrong", state);
    if (stored.first != first[i]) return fault("a first position is wrong", state);
    if (stored.last != last[i]) return fault("a last position is wrong", state);
    count[up] += count[i];
    first[up] = std::min(first[up], first[i]);
    last[up] = std::max(last[up], last[i]);
  }
  return "";
}

std::string SuffixAutomaton::check_groups() const {
  struct Found {
    std::int32_t count = 0;
    Position last = kNoPosition;
    auto operator<=>(const Found&) const = default;
  };
  using Group = std::array<Token, kGroup>;
  std::vector<std::map<Group, Found>> groups(static_cast<std::size_t>(states_.size()));
  StateId here = kRoot;
  for (Position position = 0; position + kGroup < text_.size(); ++position) {
    here = is_separator(text_[position]) ? kRoot : next(here, text_[position]);
    const Group group{text_[position + 1], text_[position + 2], text_[position + 3]};
    if (std::any_of(group.begin(), group.end(), is_separator)) continue;
    for (StateId state = here; state != kRoot; state = states_[state].link) {
      Found& found = groups[static_cast<std::size_t>(state)][group];
      ++found.count;
      found.last = position + kGroup;
    }
  }
  for (StateId state = 1; state < states_.size(); ++state) {
    Found best;
    for (const auto& [group, found] : groups[static_cast<std::size_t>(state)]) {
      best = std::max(best, found);
    }
    const State& stored = states_[state];
    if ((stored.best != kNoState) != (best.count > 0)) {
      return fault("a group is stored and none follows, or one follows and none is stored", state);
    }
    if (best.count == 0) continue;
    const State& group = states_[holder(stored.best, stored.length + kGroup)];
    if (group.count != best.count || group.last != best.last) {
      return fault("the best group is wrong", state);
    }
  }
  return "";
}

}  // namespace agspec
