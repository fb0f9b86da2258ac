// The integrity check of the suffix tree: every figure again, the slow and obvious way.
#include "agspec/suffix_tree.hpp"

namespace agspec {
namespace {

std::string fault(const char* what, StateId state) {
  return std::string(what) + " at state " + std::to_string(state);
}

}  // namespace

std::string SuffixTree::check_integrity() {
  if (stale_) read_places();
  std::string found = check_structure();
  return found.empty() ? check_counts() : found;
}

std::string SuffixTree::check_structure() const {
  std::int32_t n_root = 0;
  std::int32_t n_listed = 0;
  for (std::int32_t edge = 0; edge < edges_.size(); ++edge) {
    if (edges_[edge].state == kRoot) ++n_root;
    if (find_edge(edges_[edge].state, edges_[edge].token) != edge) {
      return fault("an edge is not found by its token", edges_[edge].state);
    }
  }
  for (StateId state = 1; state < states_.size(); ++state) {
    const State& here = states_[state];
    if (here.length < 1 || here.length > depth_) return fault("the length is wrong", state);
    if (states_[here.link].length >= here.length) {
      return fault("a suffix link does not lead to a shorter state", state);
    }
    if (here.token >= 0 && !is_leaf(here) && states_[here.target].count > here.count) {
      return fault("an only child occurs more often than its parent", state);
    }
    if (here.token != kBranching) continue;
    const std::string found = is_leaf(here) ? "" : check_children(state);
    if (!found.empty()) return found;
    for (std::int32_t edge = here.target; edge >= 0; edge = edges_[edge].next) ++n_listed;
  }
  return n_root + n_listed == edges_.size() ? "" : "edges are lost";
}

std::string SuffixTree::check_children(StateId state) const {
  const std::int32_t head = states_[state].target;
  std::int32_t before = -1;
  for (std::int32_t edge = head; edge >= 0; edge = edges_[edge].next) {
    const Edge& child = edges_[edge];
    const Group& group = groups_[child.group];
    if (child.state != state) return fault("an edge is in a foreign list", state);
    if (group.count != states_[child.target].count) return fault("a group's count is wrong", state);
    if (before >= 0 && child.prev != before) return fault("a list is broken", state);
    const bool leads = before < 0 || edges_[before].group != child.group;
    if (leads != (group.head == edge)) return fault("a group's first child is wrong", state);
    if (leads && before >= 0 && count_of(before) <= group.count) {
      return fault("children are out of order", state);
    }
    const bool ends = child.next < 0 || edges_[child.next].group != child.group;
    if (ends != (group.tail == edge)) return fault("a group's last child is wrong", state);
    before = edge;
  }
  return edges_[head].prev == before ? "" : fault("a list's end is wrong", state);
}

std::string SuffixTree::check_counts() const {
  const auto n = static_cast<std::size_t>(states_.size());
  std::vector<std::int32_t> count(n, 0);
  std::vector<Position> last(n, kNoPosition);
  std::unordered_map<std::int32_t, End> ends;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (runs_[run].sequence < 0) continue;
    End& end = ends[runs_[run].sequence];
    for (Position position = runs_[run].start; position < run_end(run); ++position) {
      const StateId here = next(end.state, text_[position]);
      if (here == kNoState) return "position " + std::to_string(position) + " cannot be read";
      for (StateId state = here; state != kRoot; state = states_[state].link) {
        ++count[static_cast<std::size_t>(state)];
        last[static_cast<std::size_t>(state)] = position;
      }
      advance(end, here);
    }
  }
  for (StateId state = 1; state < states_.size(); ++state) {
    const auto i = static_cast<std::size_t>(state);
    if (states_[state].count != count[i]) return fault("a count is wrong", state);
    if (count[i] > 0 && states_[state].last != last[i]) {
      return fault("a last position is wrong", state);
    }
  }
  for (const auto& [id, sequence] : sequences_) {
    End end = sequence.end;
    settle(end);
    if (end.state != ends[id].state || end.length != ends[id].length) {
      return "the end of sequence " + std::to_string(id) + " is wrong";
    }
  }
  return "";
}

}  // namespace agspec
