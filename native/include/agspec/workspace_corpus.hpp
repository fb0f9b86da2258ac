// The files of the repository: an automaton that grows and forgets beside the thread that drafts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "agspec/corpus.hpp"
#include "agspec/cursor.hpp"
#include "agspec/draft.hpp"
#include "agspec/handover.hpp"
#include "agspec/suffix_automaton.hpp"
#include "agspec/token.hpp"

namespace agspec {

// Views of files, in the order of indexing.
//
// An automaton cannot forget, so that a document that is taken out stays in it as a dead one until
// the next rebuild. No match or draft comes from dead text. Where a substring occurs is its first
// occurrence if that document is live, else its newest one if that is live; else it counts as dead,
// and its longest suffix that occurs elsewhere takes its place.
//
// `add`, `forget` and `rebuild` may run in one thread while others ask; those wait for one slice of
// the work at most, and never longer than a millisecond: if the corpus cannot be read by then,
// nothing matches this time. A cursor belongs to one thread.
class WorkspaceCorpus {
 public:
  // Appends a document behind a separator; returns its id: 0, 1, 2, …. Throws
  // std::invalid_argument for negative ids, std::length_error where the text would be too long.
  std::int32_t add(std::span<const Token> tokens);

  // Takes documents out. Unknown ids are no error.
  void forget(std::span<const std::int32_t> ids);

  // Whether more is dead than live, and enough for a rebuild to be worth its time.
  bool rebuild_due() const;

  // Builds the automaton anew from the live documents, which keep their ids and their order. The
  // old one serves until the new one takes its place.
  void rebuild();

  // A cursor at the root of this corpus, which must outlive it.
  Cursor cursor() const;

  // Reads tokens from the root on, or on from where the cursor is. False if the corpus could not be
  // read in time; the cursor is where it was then.
  bool read(Cursor& cursor, std::span<const Token> tokens) const;
  bool advance(Cursor& cursor, std::span<const Token> tokens) const;

  // Length of the longest suffix of what the cursor read that occurs in live text; 0 as well if the
  // corpus cannot be read in time.
  std::int32_t match_length(Cursor& cursor) const;

  // Up to `k` tokens that follow that suffix in its document; none if the corpus cannot be read in
  // time.
  Draft draft(Cursor& cursor, std::int32_t k) const;

  // Up to `k` tokens of a live document from a place on; none for another place, or if the corpus
  // cannot be read in time.
  Draft read_document(Place place, std::int32_t k) const;

  // Ids given so far.
  std::int32_t n_added() const { return n_added_; }

  // Tokens in the live documents and in the dead ones, without the separators.
  std::int32_t n_tokens() const { return n_tokens_; }
  std::int32_t n_dead_tokens() const { return n_dead_tokens_; }

  // Rises with every change: what a cursor found before may be longer or shorter by now.
  std::uint64_t version() const { return version_; }

  std::size_t memory_bytes() const;
  std::string check_integrity();

 private:
  // Where the match of a cursor goes on.
  struct Found {
    std::int32_t length = 0;
    Position start = kNoPosition;
  };

  Found find(Cursor& cursor) const;
  bool is_live(Position position) const;
  std::string check_documents() const;

  std::mutex writing_;            // Held by a change from its beginning to its end.
  mutable HandoverMutex mutex_;   // Held for a slice of a change, and for a question.
  SuffixAutomaton automaton_{Keep::kEnds};
  std::vector<Document> documents_;
  std::atomic<std::int32_t> n_added_ = 0;
  std::atomic<std::int32_t> n_tokens_ = 0;
  std::atomic<std::int32_t> n_dead_tokens_ = 0;
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace agspec
