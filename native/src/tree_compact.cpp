// Compaction of the suffix tree after removals.
//
// The sequences are not appended anew: the order of children with equal counts tells what was
// there before, and would change. States that occur no more are left out instead. What remains may
// tell strings apart that need not be any more, and answers the same.
#include <utility>

#include "agspec/suffix_tree.hpp"

namespace agspec {

void SuffixTree::compact() {
  std::vector<StateId> moved(static_cast<std::size_t>(states_.size()), kNoState);
  StateId n_live = 0;
  for (StateId state = 0; state < states_.size(); ++state) {
    if (state == kRoot || states_[state].count > 0) moved[static_cast<std::size_t>(state)] = n_live++;
  }
  SuffixTree fresh(depth_);
  fresh.copy_live(*this, moved);
  fresh.copy_text(*this, moved);
  fresh.read_places();
  *this = std::move(fresh);
}

void SuffixTree::copy_live(const SuffixTree& from, const std::vector<StateId>& moved) {
  const auto at = [&moved](StateId state) { return moved[static_cast<std::size_t>(state)]; };
  for (StateId state = 1; state < from.states_.size(); ++state) {
    if (at(state) == kNoState) continue;
    State copy = from.states_[state];
    copy.link = at(copy.link);
    copy.token = kNoToken;
    copy.target = kNoState;
    states_.push(copy);
  }
  for (StateId state = 1; state < from.states_.size(); ++state) {
    if (at(state) != kNoState) copy_edges(from, state, moved);
  }
  for (std::int32_t edge = 0; edge < from.edges_.size(); ++edge) {
    const Edge& each = from.edges_[edge];
    if (each.state != kRoot || at(each.target) == kNoState) continue;
    add_edge(kRoot, each.token, at(each.target));
  }
}

// Copies the edges of a state to others that still occur, in their order.
void SuffixTree::copy_edges(const SuffixTree& from, StateId state,
                            const std::vector<StateId>& moved) {
  const auto at = [&moved](StateId each) { return moved[static_cast<std::size_t>(each)]; };
  const State& source = from.states_[state];
  if (source.token == kNoToken || from.is_leaf(source)) return;
  if (source.token != kBranching) {
    if (at(source.target) != kNoState) add_edge(at(state), source.token, at(source.target));
    return;
  }
  for (std::int32_t edge = source.target; edge >= 0; edge = from.edges_[edge].next) {
    const Edge& each = from.edges_[edge];
    if (at(each.target) != kNoState) add_edge(at(state), each.token, at(each.target));
  }
}

void SuffixTree::copy_text(const SuffixTree& from, const std::vector<StateId>& moved) {
  for (std::size_t run = 0; run < from.runs_.size(); ++run) {
    const std::int32_t id = from.runs_[run].sequence;
    if (id < 0) continue;
    Sequence& sequence = sequences_[id];
    if (runs_.empty() || runs_.back().sequence != id) {
      runs_.push_back({text_.size(), id, sequence.n_tokens, sequence.run});
      sequence.run = static_cast<std::int32_t>(runs_.size()) - 1;
    }
    const Position stop = from.run_end(run);
    for (Position position = from.runs_[run].start; position < stop; ++position) {
      text_.push(from.text_[position]);
      ++sequence.n_tokens;
    }
  }
  for (auto& [id, sequence] : sequences_) {
    sequence.end = from.sequences_.at(id).end;
    from.settle(sequence.end);
    sequence.end.state = moved[static_cast<std::size_t>(sequence.end.state)];
  }
}

}  // namespace agspec
