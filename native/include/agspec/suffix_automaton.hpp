// An online suffix automaton over a growing text of tokens.
//
// Every state stands for a set of substrings with the same end positions (Blumer et al., 1985).
// Separators are kept in the text but not in the automaton: the text behind one is read from the
// root again, so that no substring holds a separator and equal documents share their states.
#pragma once

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
inline constexpr std::int32_t kVisitCap = 2000;

class SuffixAutomaton {
 public:
  SuffixAutomaton();

  // Appends one token. Amortised O(1) automaton work, plus at most `kEagerSteps` steps up the
  // suffix links to keep counts and last positions exact. Throws std::length_error at 2^30 tokens.
  void append(Token token);
  void append(std::span<const Token> tokens);

  // Drops the text and frees its memory.
  void clear();

  // How often the text was dropped; states of an earlier epoch mean nothing.
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

  // Where to copy from: the first token of the most frequent group of three tokens that follow a
  // state's substrings, ties to the most recent occurrence. If nothing is followed by three
  // tokens: the most recent occurrence that is followed by one. kNoPosition if there is none.
  // Looks at no more than `visit_cap` successors; exact if that is not reached.
  Position most_frequent_group(StateId state, std::int32_t visit_cap = kVisitCap);

  // Up to `k` tokens from `start` on, never past a separator. With `self_reference` a copy that
  // reaches the end of the text goes on with the tokens it has copied itself (Ziv & Lempel, 1977);
  // without, it ends there.
  std::vector<Token> copy(Position start, std::int32_t k, bool self_reference) const;

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
  };

  // A state on the way to a group of three tokens.
  struct Visit {
    std::int32_t count;
    Position start;  // Where its last occurrence goes on behind the match.
    StateId state;
    std::int32_t depth;  // Tokens behind the match.
  };

  StateId* find(StateId state, Token token);
  void add_edge(StateId state, Token token, StateId target);
  std::int32_t enter(const Edge& edge);
  std::size_t slot_of(StateId state, Token token) const;
  void grow_slots();

  StateId add_state(std::int32_t length, Position position);
  StateId extend(Token token, Position position);
  StateId clone(StateId parent, Token token, StateId original);
  void add_occurrence(StateId state, Position position);
  void settle();

  template <typename Function>
  void for_each_edge(StateId state, Function&& function) const;
  std::string check_structure() const;
  std::string check_occurrences() const;

  Blocks<Token> text_;
  Blocks<State> states_;
  Blocks<Edge> edges_;
  std::vector<std::int32_t> slots_;  // Hash table of `edges_` by (state, token); -1 is free.
  std::vector<Deferred> deferred_;
  std::vector<Visit> visits_;  // Kept to spare a query the allocation.
  std::uint64_t epoch_ = 0;
  std::int32_t deferred_length_ = 0;  // Length of the longest state in `deferred_`.
  StateId last_ = kRoot;  // State of the text since the last separator.
  bool fresh_ = false;    // Whether `last_` was new, so that it has one end position.
};

}  // namespace agspec
