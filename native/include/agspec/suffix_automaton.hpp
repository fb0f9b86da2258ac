// An online suffix automaton over a growing text of tokens.
//
// Every state stands for a set of substrings with the same end positions (Blumer et al., 1985).
// Separators are kept in the text but not in the automaton: the text behind one is read from the
// root again, so that no substring holds a separator and equal documents share their states.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agspec/blocks.hpp"
#include "agspec/token.hpp"

namespace agspec {

using StateId = std::int32_t;

inline constexpr StateId kRoot = 0;
inline constexpr StateId kNoState = -1;
inline constexpr std::int32_t kVisitCap = 256;
inline constexpr std::int32_t kGroup = 3;  // Tokens in a group.

// What an automaton keeps up to date beside its structure.
enum class Keep {
  kEnds,    // Counts and end positions. Deferred ones are settled by the owner, at its leisure.
  kGroups,  // The most frequent groups as well; everything is settled as it is asked for.
};

class SuffixAutomaton {
 public:
  explicit SuffixAutomaton(Keep keep = Keep::kGroups);

  // Appends one token. Amortised O(1) automaton work, plus at most `kEagerSteps` steps up the
  // suffix links to keep counts, last positions and best groups exact. Throws std::length_error at
  // 2^30 tokens.
  void append(Token token);
  void append(std::span<const Token> tokens);

  // Throws std::length_error if that many tokens more would be too many.
  void require_room(std::size_t n_tokens) const;

  // Changes texts with another automaton; either begins a new epoch.
  void swap(SuffixAutomaton& other);

  // How often the text was exchanged; states of an earlier epoch mean nothing.
  std::uint64_t epoch() const { return epoch_; }

  std::int32_t n_tokens() const { return text_.size(); }
  std::int32_t n_states() const { return states_.size(); }
  Token token(Position position) const { return text_[position]; }

  // The state of the longest suffix of the text that also ends at an earlier position; the root
  // if there is none. O(1).
  StateId match_state() const { return fresh_ ? states_[last_].link : last_; }
  std::int32_t match_length() const { return length(match_state()); }

  std::int32_t length(StateId state) const { return states_[state].length; }
  StateId link(StateId state) const { return states_[state].link; }

  // Where `token` leads from a state; kNoState if that substring is not in the text.
  StateId next(StateId state, Token token) const;

  // End positions of a state's substrings, and how many there are; not for the root.
  Position first_end(StateId state) const { return states_[state].first; }
  Position last_end(StateId state);
  std::int32_t count(StateId state);

  // Last end position as far as it is settled, otherwise an earlier one; nothing is changed.
  Position settled_last_end(StateId state) const { return states_[state].last; }

  // Settles what was deferred; with a limit, in so many steps at most. Whether nothing is left.
  bool settle(std::size_t n_steps = SIZE_MAX);

  // Where to copy from: the first token of the most frequent group of three tokens that follow a
  // state's substrings, ties to the most recent occurrence. O(1), always exact. If nothing is
  // followed by three tokens: the most recent occurrence that is followed by one; looks at no more
  // than `visit_cap` successors and is exact if there are no more. kNoPosition if there is none.
  // Not for the root.
  Position most_frequent_group(StateId state, std::int32_t visit_cap = kVisitCap);

  // How often that group follows; 0 if no group of three does. Not for the root.
  std::int32_t group_count(StateId state);

  // Up to `k` tokens from `start` on, never past a separator. With `self_reference` a copy that
  // reaches the end of the text goes on with the tokens it has copied itself (Ziv & Lempel, 1977);
  // without, it ends there.
  std::vector<Token> copy(Position start, std::int32_t k, bool self_reference) const;

  // A larger table of edges if the present one might have no room for `n_more`; empty if it has.
  // To be made while others read the automaton, and put in its place while they do not; `slots` has
  // the old one then. Without it the table grows in the middle of an append, in time O(edges).
  std::vector<std::int32_t> larger_slots(std::size_t n_more) const;
  void replace_slots(std::vector<std::int32_t>& slots) { slots_.swap(slots); }

  // Bytes taken from the allocator, and the object itself.
  std::size_t memory_bytes() const;

  // Rebuilds every figure from the text the slow way and compares; for tests.
  // The first fault in words; empty if there is none.
  std::string check_integrity();

 private:
  struct State {
    std::int32_t length;  // Tokens in the longest substring.
    StateId link;         // State of the longest suffix with more end positions.
    Position first;       // First end position.
    Position last;        // Last end position, but for deferred updates.
    std::int32_t count;   // End positions, but for deferred updates.
    Token token;          // The first edge, kept inline since most states have no other.
    StateId target;
    std::int32_t spill;   // Head of the list of further edges, the newest first; -1 if none.
    // Holds the longest substring and its most frequent group, but for deferred updates and later
    // splits; kNoState if no group follows.
    StateId best;
  };

  struct Edge {
    StateId state;
    Token token;
    StateId target;
    std::int32_t next;  // Next edge of the same state; -1 at the end.
  };

  // An occurrence that was counted at the states below `state` only.
  struct Deferred {
    std::int32_t length;  // Length of the state, the order in which they are settled.
    StateId state;
    std::int32_t count;
    Position last;
    auto operator<=>(const Deferred&) const = default;
  };

  // A group that was compared at the states above `state` only.
  struct DeferredGroup {
    std::int32_t length;  // Length of the state, the order in which they are settled.
    StateId state;
    StateId group;  // Holds the state's longest substring and the group.
    auto operator<=>(const DeferredGroup&) const = default;
  };

  StateId* find(StateId state, Token token);
  void add_edge(StateId state, Token token, StateId target);
  std::int32_t enter(const Edge& edge);
  static std::size_t slot_of(StateId state, Token token, std::size_t n_slots);
  std::vector<std::int32_t> doubled_slots() const;

  StateId add_state(std::int32_t length, Position position);
  StateId extend(Token token, Position position);
  StateId clone(StateId parent, Token token, StateId original);
  StateId best_group(StateId state);
  bool add_occurrence(StateId state, Position position);
  bool add_group(StateId state, StateId group);
  void replace_best(State& state, StateId group);
  StateId holder(StateId state, std::int32_t length) const;
  bool too_many_deferred() const;
  void defer(const Deferred& occurrence);
  bool settle_occurrences(std::size_t n_steps);
  void settle_groups();

  template <typename Function>
  void for_each_edge(StateId state, Function&& function) const;
  std::string check_structure() const;
  std::string check_occurrences() const;
  std::string check_groups() const;

  Blocks<Token> text_;
  Blocks<State> states_;
  Blocks<Edge> edges_;
  std::vector<std::int32_t> slots_;  // Hash table of `edges_` by (state, token); -1 is free.
  std::vector<Deferred> deferred_;            // A heap with the longest state on top.
  std::vector<DeferredGroup> deferred_groups_;
  Keep keep_;
  std::uint64_t epoch_ = 0;
  // No longer substring has a count, last position or group that is deferred; 0 if none is.
  std::int32_t deferred_length_ = 0;
  StateId last_ = kRoot;  // State of the text since the last separator.
  // What `last_` was one token ago and two tokens ago. A state that is split keeps its longest
  // substring, and these stand for whole texts behind a separator, so that no split concerns them.
  std::array<StateId, kGroup - 1> earlier_{kRoot, kRoot};
  bool fresh_ = false;    // Whether `last_` was new, so that it has one end position.
};

}  // namespace agspec
