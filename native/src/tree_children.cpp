// Counts, and the order of a state's children in the suffix tree.
//
// The order is SuffixDecoding's, since a draft follows the first child and ties are frequent:
//  - A new child becomes the last one.
//  - A child whose count rises goes in front of the children that had the same count as it. If it
//    was already the first of them, it goes in front of those that have its new count.
//  - A child whose count falls goes behind the children that had the same count as it, which is in
//    front of those that have its new count.
// A child that does not occur any more stays behind all others; if it comes back it is a new one.
// Groups of equal counts know their first and their last child, so that each move is O(1).
#include <utility>

#include "agspec/suffix_tree.hpp"

namespace agspec {

// Counts one occurrence more, or fewer, of every string that ends with `token` at `here` or at its
// suffix links, and moves it among the children of the string without that token. Those are found
// on the chain that begins at `before`: they step up together.
template <SuffixTree::Change change>
void SuffixTree::recount(StateId before, StateId here, Token token, Position position) {
  StateId parent = before;
  for (StateId state = here; state != kRoot; state = states_[state].link) {
    State& child = states_[state];
    if constexpr (change == Change::kMore) {
      ++child.count;
      child.last = position;
    } else {
      --child.count;
    }
    const std::int32_t shorter = states_[child.link].length;
    for (; parent != kRoot && states_[parent].length >= shorter; parent = states_[parent].link) {
      if (states_[parent].token != kBranching) continue;
      if constexpr (change == Change::kMore) {
        raise(parent, token);
      } else {
        lower(parent, token);
      }
    }
  }
}

template void SuffixTree::recount<SuffixTree::Change::kMore>(StateId, StateId, Token, Position);
template void SuffixTree::recount<SuffixTree::Change::kFewer>(StateId, StateId, Token, Position);

// Moves a child whose count has risen by one.
void SuffixTree::raise(StateId state, Token token) {
  State& from = states_[state];
  const std::int32_t edge = find_edge(state, token);
  Edge& child = edges_[edge];
  Group& old = groups_[child.group];
  if (old.count == 0) {
    insert_last(from, edge);
    return;
  }
  const std::int32_t count = old.count + 1;
  std::int32_t other = old.head;
  if (other == edge) {
    const bool ties = edge != from.target && count_of(child.prev) == count;
    other = ties ? groups_[edges_[child.prev].group].head : -1;
  }
  if (other >= 0) {
    leave_group(edge);
    unlink(from, edge);
    link_before(from, edge, other);
    join_group(from, edge, count);
  } else if (old.head == old.tail) {
    old.count = count;
  } else {
    leave_group(edge);
    child.group = add_group(edge, count);
  }
}

// Moves a child whose count has fallen by one.
void SuffixTree::lower(StateId state, Token token) {
  State& from = states_[state];
  const std::int32_t edge = find_edge(state, token);
  Edge& child = edges_[edge];
  const Group& old = groups_[child.group];
  const std::int32_t count = old.count - 1;
  const std::int32_t tail = old.tail;
  leave_group(edge);
  if (tail != edge) {
    const std::int32_t behind = edges_[tail].next;
    unlink(from, edge);
    link_before(from, edge, behind);
  }
  join_group(from, edge, count);
}

// Makes an uncounted child the last one of those that occur, with a count of 1.
void SuffixTree::insert_last(State& from, std::int32_t edge) {
  leave_group(edge);
  unlink(from, edge);
  const std::int32_t tail = edges_[from.target].prev;
  const std::int32_t other = count_of(tail) == 0 ? groups_[edges_[tail].group].head : -1;
  link_before(from, edge, other);
  join_group(from, edge, 1);
}

// Puts a linked child into the group of its neighbours, or into one of its own.
void SuffixTree::join_group(const State& from, std::int32_t edge, std::int32_t count) {
  Edge& child = edges_[edge];
  if (edge != from.target && count_of(child.prev) == count) {
    child.group = edges_[child.prev].group;
    if (groups_[child.group].tail == child.prev) groups_[child.group].tail = edge;
  } else if (child.next >= 0 && count_of(child.next) == count) {
    child.group = edges_[child.next].group;
    groups_[child.group].head = edge;
  } else {
    child.group = add_group(edge, count);
  }
}

// Turns the list that a new state shares with the state it was copied from into one of its own.
void SuffixTree::copy_children(StateId added) {
  State& to = states_[added];
  const std::int32_t first = to.target;
  to.target = -1;
  for (std::int32_t edge = first; edge >= 0; edge = edges_[edge].next) {
    const std::int32_t same = enter({added, edges_[edge].token, edges_[edge].target, -1, -1, -1});
    link_before(to, same, -1);
    join_group(to, same, count_of(edge));
  }
}

void SuffixTree::unlink(State& from, std::int32_t edge) {
  const auto [prev, next] = std::pair(edges_[edge].prev, edges_[edge].next);
  if (from.target == edge) {
    from.target = next;
  } else {
    edges_[prev].next = next;
  }
  if (next >= 0) {
    edges_[next].prev = prev;
  } else if (from.target >= 0) {
    edges_[from.target].prev = prev;
  }
}

// Links a child in before another one, or as the last one if that is -1.
void SuffixTree::link_before(State& from, std::int32_t edge, std::int32_t other) {
  Edge& child = edges_[edge];
  child.next = other;
  if (from.target < 0) {
    from.target = edge;
    child.prev = edge;
    return;
  }
  const std::int32_t behind = other < 0 ? from.target : other;  // Whose `prev` this child becomes.
  child.prev = edges_[behind].prev;
  edges_[behind].prev = edge;
  if (other == from.target) {
    from.target = edge;
  } else {
    edges_[child.prev].next = edge;
  }
}

// Takes a child that is still linked out of its group.
void SuffixTree::leave_group(std::int32_t edge) {
  const Edge& child = edges_[edge];
  Group& group = groups_[child.group];
  if (group.head == group.tail) {
    group.head = free_group_;
    group.count = -1;
    free_group_ = child.group;
  } else if (group.head == edge) {
    group.head = child.next;
  } else if (group.tail == edge) {
    group.tail = child.prev;
  }
}

std::int32_t SuffixTree::add_group(std::int32_t edge, std::int32_t count) {
  const Group group{edge, edge, count};
  if (free_group_ < 0) return groups_.push(group);
  const std::int32_t reused = free_group_;
  free_group_ = groups_[reused].head;
  groups_[reused] = group;
  return reused;
}

}  // namespace agspec
