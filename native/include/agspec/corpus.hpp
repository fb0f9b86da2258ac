// The live corpora: an automaton each, and which document every position belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "agspec/cursor.hpp"
#include "agspec/draft.hpp"
#include "agspec/suffix_automaton.hpp"
#include "agspec/token.hpp"

namespace agspec {

// A stretch of a corpus' text that comes from one piece or one view of a file.
struct Document {
  std::int32_t id;        // Given by the corpus in the order of adding, never reused.
  Position start;         // Position of its first token in the text.
  std::int32_t n_tokens;  // Tokens of it in the text.
  Position offset;        // Tokens of the document that come before them but were left out.
};

// The place of a position of the text. `documents` are in the order of their positions, and one of
// them begins at or before it.
Place locate(std::span<const Document> documents, Position position);

// Prompts, tool outputs and generated tokens of one session. Its end is the decoding context.
class SessionCorpus {
 public:
  // Begins a document and returns its id. `joined` means that it goes on from the text before it;
  // otherwise a separator is put in between. `offset` tokens of the document are left out.
  std::int32_t begin_document(bool joined, Position offset);

  // Appends tokens to the last document. Throws std::logic_error if there is none.
  void append(std::span<const Token> tokens);

  // Length of the longest suffix of the decoding context that occurred before.
  std::int32_t match_length() const { return automaton_.match_length(); }

  // Up to `k` tokens of the most frequent group that follows the match, ties to the most recent.
  Draft draft(std::int32_t k, std::int32_t visit_cap);

  // The text's length, separators included.
  std::int32_t n_tokens() const { return automaton_.n_tokens(); }
  std::size_t memory_bytes() const;
  std::string check_integrity() { return automaton_.check_integrity(); }

 private:
  SuffixAutomaton automaton_;
  std::vector<Document> documents_;
  std::int32_t n_separators_ = 0;
};

// Views of files, in the order of indexing.
class WorkspaceCorpus {
 public:
  // Appends a document behind a separator; returns its id.
  std::int32_t add(std::span<const Token> tokens);

  // Takes documents out; the others keep their ids and their order. The automaton is built anew
  // from what is left. Unknown ids are no error.
  void forget(std::span<const std::int32_t> ids);

  // A cursor at the root of this corpus, which must outlive it.
  Cursor cursor() const { return Cursor(automaton_); }

  // Up to `k` tokens that follow the first occurrence of the cursor's match in its document.
  Draft draft(Cursor& cursor, std::int32_t k) const;

  // Tokens in the documents, without the separators.
  std::int32_t n_tokens() const { return n_tokens_; }
  std::size_t memory_bytes() const;
  std::string check_integrity() { return automaton_.check_integrity(); }

 private:
  void index(std::int32_t id, std::span<const Token> tokens);

  SuffixAutomaton automaton_;
  std::vector<Document> documents_;
  std::int32_t n_added_ = 0;
  std::int32_t n_tokens_ = 0;
};

}  // namespace agspec
