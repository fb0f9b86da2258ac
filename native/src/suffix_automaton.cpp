#include "agspec/suffix_automaton.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace agspec {
namespace {

constexpr std::int32_t kMaxTokens = 1 << 30;  // States are at most twice as many.
constexpr std::size_t kFirstSlots = 1024;
constexpr Token kNoToken = -1;

// Whether a hash table is too full to be searched quickly.
bool is_full(std::size_t n_edges, std::size_t n_slots) { return n_edges * 5 > n_slots * 3; }

}  // namespace

SuffixAutomaton::SuffixAutomaton(Keep keep) : slots_(kFirstSlots, -1), keep_(keep) {
  states_.push({0, kNoState, kNoPosition, kNoPosition, 0, kNoToken, kNoState, -1, kNoState});
}

void SuffixAutomaton::append(std::span<const Token> tokens) {
  for (const Token token : tokens) append(token);
}

void SuffixAutomaton::append(Token token) {
  require_room(1);
  const Position position = text_.push(token);
  if (is_separator(token)) {
    last_ = kRoot;
    earlier_.fill(kRoot);
    fresh_ = false;
    return;
  }
  // A fresh state has no edges yet. Any other one is the whole text since the last separator,
  // which has occurred before, and may have this continuation already.
  const StateId before = last_;
  const StateId* known = fresh_ ? nullptr : find(last_, token);
  if (known != nullptr) {
    const bool whole = states_[*known].length == states_[last_].length + 1;
    last_ = whole ? *known : clone(last_, token, *known);
  } else {
    last_ = extend(token, position);
    fresh_ = true;
  }
  const bool counted = add_occurrence(last_, position);
  if (keep_ == Keep::kEnds) return;
  const bool grouped = add_group(earlier_[1], last_);
  // A periodic stretch is over as soon as the chains are short again.
  if (deferred_length_ > 0 && ((counted && grouped) || too_many_deferred())) settle();
  earlier_ = {before, earlier_[0]};
}

void SuffixAutomaton::require_room(std::size_t n_tokens) const {
  if (n_tokens > static_cast<std::size_t>(kMaxTokens - text_.size())) {
    throw std::length_error("the corpus is full");
  }
}

void SuffixAutomaton::swap(SuffixAutomaton& other) {
  std::swap(*this, other);
  epoch_ = other.epoch_ = std::max(epoch_, other.epoch_) + 1;
}

StateId SuffixAutomaton::add_state(std::int32_t length, Position position) {
  return states_.push({length, kRoot, position, position, 0, kNoToken, kNoState, -1, kNoState});
}

// Adds the state of the text since the last separator, which has never occurred before.
StateId SuffixAutomaton::extend(Token token, Position position) {
  const StateId added = add_state(states_[last_].length + 1, position);
  StateId parent = last_;
  const StateId* target = nullptr;
  while (parent != kNoState && (target = find(parent, token)) == nullptr) {
    add_edge(parent, token, added);
    parent = states_[parent].link;
  }
  if (parent != kNoState) {
    const StateId known = *target;
    const bool whole = states_[known].length == states_[parent].length + 1;
    states_[added].link = whole ? known : clone(parent, token, known);
  }
  return added;
}

// Splits the shorter substrings off a state: from now on they end at more positions than the
// longer ones. Both have had the same end positions so far, also among the deferred ones.
StateId SuffixAutomaton::clone(StateId parent, Token token, StateId original) {
  State copy = states_[original];
  copy.length = states_[parent].length + 1;
  copy.spill = -1;
  const StateId added = states_.push(copy);
  std::int32_t tail = -1;
  for (std::int32_t edge = states_[original].spill; edge >= 0; edge = edges_[edge].next) {
    const std::int32_t same = enter({added, edges_[edge].token, edges_[edge].target, -1});
    (tail < 0 ? states_[added].spill : edges_[tail].next) = same;
    tail = same;
  }
  states_[original].link = added;
  for (StateId state = parent; state != kNoState; state = states_[state].link) {
    StateId* target = find(state, token);
    if (target == nullptr || *target != original) break;
    *target = added;
  }
  return added;
}

std::size_t SuffixAutomaton::slot_of(StateId state, Token token, std::size_t n_slots) {
  const auto key = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(state)) << 32) |
                   static_cast<std::uint32_t>(token);
  // Fibonacci hashing: the high bits of the product are the well mixed ones.
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >>
                                  (64 - std::countr_zero(n_slots)));
}

StateId* SuffixAutomaton::find(StateId state, Token token) {
  State& from = states_[state];
  if (from.token == token) return &from.target;
  if (from.spill < 0) return nullptr;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = slot_of(state, token, slots_.size()); slots_[slot] >= 0; slot = (slot + 1) & mask) {
    Edge& edge = edges_[slots_[slot]];
    if (edge.state == state && edge.token == token) return &edge.target;
  }
  return nullptr;
}

StateId SuffixAutomaton::next(StateId state, Token token) const {
  if (is_separator(token)) return kNoState;
  const StateId* target = const_cast<SuffixAutomaton*>(this)->find(state, token);
  return target == nullptr ? kNoState : *target;
}

void SuffixAutomaton::add_edge(StateId state, Token token, StateId target) {
  State& from = states_[state];
  if (from.token == kNoToken) {
    from.token = token;
    from.target = target;
    return;
  }
  from.spill = enter({state, token, target, from.spill});
}

// Stores an edge where `find` looks for it; the caller puts it into its state's list.
std::int32_t SuffixAutomaton::enter(const Edge& edge) {
  const std::int32_t added = edges_.push(edge);
  if (is_full(static_cast<std::size_t>(added), slots_.size())) slots_ = doubled_slots();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = slot_of(edge.state, edge.token, slots_.size());
  while (slots_[slot] >= 0) slot = (slot + 1) & mask;
  slots_[slot] = added;
  return added;
}

// A table twice as large; it has all edges that `slots_` has.
std::vector<std::int32_t> SuffixAutomaton::doubled_slots() const {
  std::vector<std::int32_t> doubled(slots_.size() * 2, -1);
  const std::size_t mask = doubled.size() - 1;
  for (const std::int32_t edge : slots_) {
    if (edge < 0) continue;
    std::size_t slot = slot_of(edges_[edge].state, edges_[edge].token, doubled.size());
    while (doubled[slot] >= 0) slot = (slot + 1) & mask;
    doubled[slot] = edge;
  }
  return doubled;
}

std::vector<std::int32_t> SuffixAutomaton::larger_slots(std::size_t n_more) const {
  const std::size_t n_edges = static_cast<std::size_t>(edges_.size()) + n_more;
  return is_full(n_edges, slots_.size()) ? doubled_slots() : std::vector<std::int32_t>();
}

std::size_t SuffixAutomaton::memory_bytes() const {
  return sizeof(*this) + text_.bytes() + states_.bytes() + edges_.bytes() +
         slots_.capacity() * sizeof(slots_[0]) + deferred_.capacity() * sizeof(Deferred) +
         deferred_groups_.capacity() * sizeof(DeferredGroup);
}

}  // namespace agspec
