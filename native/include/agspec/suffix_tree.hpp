// A suffix tree with counts over many growing sequences, cut at a depth.
//
// It answers what a trie of all substrings of at most `depth` tokens answers, with the children of
// every node in the order that SuffixDecoding gives them (Oliaro et al., 2024). Stored is the
// trie's minimal graph instead: a suffix automaton that tells apart only what the depth lets it
// see. Strings with the same occurrences share a state, and with it their count and the order of
// their children, so that a token changes the few states on its chain of suffix links and not
// `depth` nodes. docs/adr/002-suffix-tree-as-automaton.md says why that is exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "agspec/blocks.hpp"
#include "agspec/draft.hpp"
#include "agspec/suffix_automaton.hpp"
#include "agspec/token.hpp"

namespace agspec {

// How long a draft may be, as SuffixDecoding has it.
struct DraftRule {
  std::int32_t k = 0;      // Most tokens.
  float factor = 1.0F;     // Most tokens for each token of the match.
  float offset = 0.0F;     // Added to that product.
  float min_prob = 0.1F;   // A token less probable than this ends the draft before it.
};

// What the tree proposes.
struct TreeDraft {
  std::vector<Token> ids;         // Proposed tokens.
  float score = 0.0F;             // Sum of their probabilities.
  std::int32_t match_length = 0;  // Tokens of the context that they follow.
  Place place;                    // Sequence and offset of the first one, most recent occurrence.
};

class SuffixTree {
 public:
  // Throws std::invalid_argument for a depth below 1.
  explicit SuffixTree(std::int32_t depth);

  // Appends tokens to a sequence, which begins with its first token. Sequences may take turns.
  // Throws std::invalid_argument for a negative id or token, std::length_error at 2^30 tokens.
  void append(std::int32_t sequence, std::span<const Token> tokens);

  // Takes a sequence out. Amortised over all removals, the cost is that of its tokens.
  // Throws std::out_of_range for an unknown one.
  void remove(std::int32_t sequence);

  // The draft with the highest score over the matches of all lengths, ties to the longest match.
  // A match is a suffix of the context that is not the whole of it.
  // Throws std::invalid_argument for a negative token and for figures that are not finite or for
  // a negative factor.
  TreeDraft draft(std::span<const Token> context, const DraftRule& rule);

  // The same for the context that is a sequence's last `depth` tokens, without reading them.
  // Throws std::out_of_range for an unknown sequence as well.
  TreeDraft draft_sequence(std::int32_t sequence, const DraftRule& rule);

  // How often a string of at most `depth` tokens occurs; longer ones count as unknown.
  std::int32_t count(std::span<const Token> tokens) const;

  // Frees what removed sequences have left behind; `remove` calls it when that is more than the
  // rest. Nothing that is asked for changes.
  void compact();

  std::int32_t depth() const { return depth_; }
  std::int32_t n_tokens() const { return text_.size() - n_removed_; }
  std::int32_t n_sequences() const { return static_cast<std::int32_t>(sequences_.size()); }
  std::int32_t n_states() const { return states_.size(); }

  // Bytes taken from the allocator, and the object itself.
  std::size_t memory_bytes() const;

  // Rebuilds every figure from the text the slow way and compares; for tests.
  // The first fault in words; empty if there is none.
  std::string check_integrity();

 private:
  static constexpr Token kNoToken = -1;
  static constexpr Token kBranching = -2;

  struct State {
    std::int32_t length;  // Tokens in the longest string, at most `depth_`.
    StateId link;         // State of the longest suffix with more occurrences.
    std::int32_t count;   // Occurrences; 0 once all were removed.
    Position last;        // Last end position, unless `stale_`.
    Token token;          // The only edge; kNoToken if there is none, kBranching if several.
    StateId target;       // Where it leads; the first child's edge if there are several.
  };

  // An edge of the root or of a state with several. The latter form a list: the children, the most
  // frequent first, and last those that do not occur any more.
  struct Edge {
    StateId state;
    Token token;
    StateId target;
    std::int32_t prev;   // The child before it; the last one if it is the first.
    std::int32_t next;   // The child behind it; -1 at the end.
    std::int32_t group;  // Children of the same count.
  };

  // A run of children of one state with the same count.
  struct Group {
    std::int32_t head;  // The first; in a free record, the next free one.
    std::int32_t tail;  // The last.
    std::int32_t count;
  };

  // The state of a suffix, at most `depth_` - 1 tokens: what may still be continued.
  struct End {
    StateId state = kRoot;
    std::int32_t length = 0;
  };

  struct Sequence {
    End end;
    std::int32_t n_tokens = 0;
    std::int32_t run = -1;  // Its last stretch of the text.
  };

  // A stretch of the text that belongs to one sequence; it ends where the next one starts.
  struct Run {
    Position start;
    std::int32_t sequence;  // -1 once it was removed.
    std::int32_t offset;    // Tokens of the sequence before it.
    std::int32_t previous;  // The same sequence's stretch before it; -1 for the first.
  };

  // What follows a state if the first child is taken each time.
  struct Path {
    std::vector<Token> ids;
    std::vector<float> sums;   // Sum of the first i probabilities, i = 0, 1, ….
    StateId first = kNoState;  // The state behind the first token.
  };

  enum class Change { kMore, kFewer };

  // The graph.
  // Whether all strings have the depth's length. What such a state led to before it was split is
  // never looked at again.
  bool is_leaf(const State& state) const { return states_[state.link].length == depth_ - 1; }
  void append(Sequence& sequence, Token token);
  StateId extend(const End& before, Token token, Position position);
  StateId clone(StateId parent, Token token, StateId original, std::int32_t length);
  void add_edge(StateId state, Token token, StateId target);
  std::int32_t enter(const Edge& edge);
  std::int32_t find_edge(StateId state, Token token) const;
  StateId* find(StateId state, Token token);
  StateId next(StateId state, Token token) const;
  std::size_t slot_of(StateId state, Token token) const;
  void grow_slots();
  void settle(End& end) const;
  void advance(End& end, StateId here) const;
  Position run_end(std::size_t run) const;

  // Counts and the order of children.
  template <Change change>
  void recount(StateId before, StateId here, Token token, Position position);
  void raise(StateId state, Token token);
  void lower(StateId state, Token token);
  void insert_last(State& from, std::int32_t edge);
  void join_group(const State& from, std::int32_t edge, std::int32_t count);
  void copy_children(StateId added);
  void unlink(State& from, std::int32_t edge);
  void link_before(State& from, std::int32_t edge, std::int32_t other);
  void leave_group(std::int32_t edge);
  std::int32_t add_group(std::int32_t edge, std::int32_t count);
  std::int32_t count_of(std::int32_t edge) const { return groups_[edges_[edge].group].count; }

  // Drafts.
  TreeDraft best_draft(StateId state, std::int32_t length, const DraftRule& rule);
  void follow(StateId state, std::int32_t k, float min_prob);
  std::int32_t limit(std::int32_t match_length, const DraftRule& rule) const;
  Place place_of(StateId state);
  void read_places();

  // Compaction and the check.
  void copy_live(const SuffixTree& from, const std::vector<StateId>& moved);
  void copy_edges(const SuffixTree& from, StateId state, const std::vector<StateId>& moved);
  void copy_text(const SuffixTree& from, const std::vector<StateId>& moved);
  std::string check_structure() const;
  std::string check_children(StateId state) const;
  std::string check_counts() const;

  std::int32_t depth_;
  Blocks<Token> text_;  // All sequences, in the order of appending.
  std::vector<Run> runs_;
  std::unordered_map<std::int32_t, Sequence> sequences_;
  Blocks<State> states_;
  Blocks<Edge> edges_;
  Blocks<Group> groups_;
  std::int32_t free_group_ = -1;
  std::vector<std::int32_t> slots_;  // Hash table of `edges_` by (state, token); -1 is free.
  std::int32_t n_removed_ = 0;       // Tokens of the text that belong to no sequence any more.
  bool stale_ = false;               // Whether a state's last position may have been removed.
  Path path_;                        // Kept to spare a query the allocation.
};

}  // namespace agspec
