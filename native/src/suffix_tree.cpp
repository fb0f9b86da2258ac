#include "agspec/suffix_tree.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace agspec {
namespace {

constexpr std::int32_t kMaxTokens = 1 << 30;  // States are at most twice as many.
constexpr std::size_t kFirstSlots = 1024;

}  // namespace

SuffixTree::SuffixTree(std::int32_t depth) : depth_(depth), slots_(kFirstSlots, -1) {
  if (depth < 1) throw std::invalid_argument("the depth must be at least 1");
  // The root's children have no order: no match is empty.
  states_.push({0, kNoState, 0, kNoPosition, kBranching, kNoState});
}

void SuffixTree::append(std::int32_t sequence, std::span<const Token> tokens) {
  if (sequence < 0) throw std::invalid_argument("a sequence's number must not be negative");
  if (std::any_of(tokens.begin(), tokens.end(), is_separator)) {
    throw std::invalid_argument("token ids must not be negative");
  }
  if (tokens.size() > static_cast<std::size_t>(kMaxTokens - text_.size())) {
    throw std::length_error("the tree is full");
  }
  if (tokens.empty()) return;
  Sequence& to = sequences_[sequence];
  if (runs_.empty() || runs_.back().sequence != sequence) {
    runs_.push_back({text_.size(), sequence, to.n_tokens, to.run});
    to.run = static_cast<std::int32_t>(runs_.size()) - 1;
  }
  for (const Token token : tokens) append(to, token);
}

void SuffixTree::append(Sequence& sequence, Token token) {
  const Position position = text_.push(token);
  settle(sequence.end);
  const End before = sequence.end;
  const StateId* known = find(before.state, token);
  StateId here = kNoState;
  if (known == nullptr) {
    here = extend(before, token, position);
  } else {
    // Longer strings of that state do not end here: those with the depth's length have no longer
    // ones beside them, and a shorter one is the whole sequence.
    const std::int32_t length = before.length + 1;
    const bool whole = states_[*known].length == length;
    here = whole ? *known : clone(before.state, token, *known, length);
  }
  recount<Change::kMore>(before.state, here, token, position);
  advance(sequence.end, here);
  ++sequence.n_tokens;
}

// Since the last visit the state may have been split, in which case the suffix has gone to one of
// its suffix links.
void SuffixTree::settle(End& end) const {
  while (end.state != kRoot && states_[states_[end.state].link].length >= end.length) {
    end.state = states_[end.state].link;
  }
}

// Goes on to the state of the next token and drops what the depth does not let anyone continue.
void SuffixTree::advance(End& end, StateId here) const {
  end.state = here;
  end.length = std::min(end.length + 1, depth_ - 1);
  settle(end);
}

// Adds the state of the strings that end here for the first time.
StateId SuffixTree::extend(const End& before, Token token, Position position) {
  const StateId added =
      states_.push({before.length + 1, kRoot, 0, position, kNoToken, kNoState});
  StateId parent = before.state;
  const StateId* target = nullptr;
  while (parent != kNoState && (target = find(parent, token)) == nullptr) {
    add_edge(parent, token, added);
    parent = states_[parent].link;
  }
  if (parent != kNoState) {
    const StateId known = *target;
    const std::int32_t length = states_[parent].length + 1;
    const bool whole = states_[known].length == length;
    states_[added].link = whole ? known : clone(parent, token, known, length);
  }
  return added;
}

// Splits the strings of at most `length` tokens off a state: from now on they occur more often
// than the longer ones. So far both had the same occurrences, and so the same children in the same
// order.
StateId SuffixTree::clone(StateId parent, Token token, StateId original, std::int32_t length) {
  State copy = states_[original];
  copy.length = length;
  const StateId added = states_.push(copy);
  if (copy.token == kBranching) copy_children(added);
  states_[original].link = added;
  for (StateId state = parent; state != kNoState; state = states_[state].link) {
    StateId* target = find(state, token);
    if (target == nullptr || *target != original) break;
    *target = added;
  }
  return added;
}

void SuffixTree::remove(std::int32_t sequence) {
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) throw std::out_of_range("the tree has no such sequence");
  std::vector<std::int32_t> runs;
  for (std::int32_t run = found->second.run; run >= 0;
       run = runs_[static_cast<std::size_t>(run)].previous) {
    runs.push_back(run);
  }
  End end;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    Run& stretch = runs_[static_cast<std::size_t>(*run)];
    const Position stop = run_end(static_cast<std::size_t>(*run));
    for (Position position = stretch.start; position < stop; ++position) {
      const Token token = text_[position];
      const StateId here = next(end.state, token);
      recount<Change::kFewer>(end.state, here, token, position);
      advance(end, here);
    }
    stretch.sequence = -1;
  }
  n_removed_ += found->second.n_tokens;
  stale_ = true;
  sequences_.erase(found);
  if (n_removed_ > n_tokens()) compact();
}

Position SuffixTree::run_end(std::size_t run) const {
  return run + 1 < runs_.size() ? runs_[run + 1].start : text_.size();
}

std::int32_t SuffixTree::count(std::span<const Token> tokens) const {
  if (tokens.size() > static_cast<std::size_t>(depth_)) return 0;
  StateId state = kRoot;
  for (const Token token : tokens) {
    state = is_separator(token) ? kNoState : next(state, token);
    if (state == kNoState) return 0;
  }
  return state == kRoot ? n_tokens() : states_[state].count;
}

std::size_t SuffixTree::slot_of(StateId state, Token token) const {
  const auto key = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(state)) << 32) |
                   static_cast<std::uint32_t>(token);
  // Fibonacci hashing: the high bits of the product are the well mixed ones.
  return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >>
                                  (64 - std::countr_zero(slots_.size())));
}

// The edge of a state that has several; -1 if there is none.
std::int32_t SuffixTree::find_edge(StateId state, Token token) const {
  const StateId first = states_[state].target;
  if (first >= 0 && edges_[first].token == token) return first;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = slot_of(state, token); slots_[slot] >= 0; slot = (slot + 1) & mask) {
    const Edge& edge = edges_[slots_[slot]];
    if (edge.state == state && edge.token == token) return slots_[slot];
  }
  return -1;
}

StateId* SuffixTree::find(StateId state, Token token) {
  State& from = states_[state];
  if (from.token == token) return &from.target;
  if (from.token != kBranching) return nullptr;
  const std::int32_t edge = find_edge(state, token);
  return edge < 0 ? nullptr : &edges_[edge].target;
}

StateId SuffixTree::next(StateId state, Token token) const {
  const StateId* target = const_cast<SuffixTree*>(this)->find(state, token);
  return target == nullptr ? kNoState : *target;
}

void SuffixTree::add_edge(StateId state, Token token, StateId target) {
  State& from = states_[state];
  if (state == kRoot) {
    enter({state, token, target, -1, -1, -1});
    return;
  }
  if (from.token == kNoToken) {
    from.token = token;
    from.target = target;
    return;
  }
  if (from.token != kBranching) {
    const std::int32_t first = enter({state, from.token, from.target, -1, -1, -1});
    edges_[first].prev = first;
    edges_[first].group = add_group(first, states_[from.target].count);
    from.token = kBranching;
    from.target = first;
  }
  // A new state has no occurrence yet. Counting it moves it in front of those that have lost theirs.
  const std::int32_t edge = enter({state, token, target, -1, -1, -1});
  link_before(from, edge, -1);
  join_group(from, edge, states_[target].count);
}

// Stores an edge where `find_edge` looks for it.
std::int32_t SuffixTree::enter(const Edge& edge) {
  const std::int32_t added = edges_.push(edge);
  if (static_cast<std::size_t>(added) * 5 > slots_.size() * 3) grow_slots();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = slot_of(edge.state, edge.token);
  while (slots_[slot] >= 0) slot = (slot + 1) & mask;
  slots_[slot] = added;
  return added;
}

// Doubles the hash table; the caller enters the newest edge.
void SuffixTree::grow_slots() {
  std::vector<std::int32_t>(slots_.size() * 2, -1).swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (std::int32_t edge = 0; edge + 1 < edges_.size(); ++edge) {
    std::size_t slot = slot_of(edges_[edge].state, edges_[edge].token);
    while (slots_[slot] >= 0) slot = (slot + 1) & mask;
    slots_[slot] = edge;
  }
}

std::size_t SuffixTree::memory_bytes() const {
  return sizeof(*this) + text_.bytes() + states_.bytes() + edges_.bytes() + groups_.bytes() +
         slots_.capacity() * sizeof(slots_[0]) + runs_.capacity() * sizeof(Run) +
         sequences_.size() * (sizeof(Sequence) + 3 * sizeof(void*)) +
         sequences_.bucket_count() * sizeof(void*);
}

}  // namespace agspec
