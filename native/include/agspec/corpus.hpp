// The session corpus, and which document of a corpus every position belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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
  bool live = true;       // Whether it is still part of the corpus.
};

// The separator number `n` of a text; no two are equal.
inline constexpr Token separator(std::int32_t n) { return -1 - n; }

// The document that a position of the text belongs to. `documents` are in the order of their
// positions, and one of them begins at or before it.
const Document& document_at(std::span<const Document> documents, Position position);

// That document and the position's offset in it.
Place locate(std::span<const Document> documents, Position position);

// Prompts, tool outputs and generated tokens of one session. Its end is the decoding context.
class SessionCorpus {
 public:
  // Begins a document and returns its id. `joined` means that it goes on from the text before it;
  // otherwise a separator is put in between. `offset` tokens of the document are left out.
  std::int32_t begin_document(bool joined, Position offset);

  // Appends tokens to the last document. Throws std::logic_error if there is none,
  // std::invalid_argument for negative ids.
  void append(std::span<const Token> tokens);

  // The longest suffix of the decoding context that occurred before, and how often it did.
  Match match();

  // Its length alone.
  std::int32_t match_length() const { return automaton_.match_length(); }

  // Up to `k` tokens of the most frequent group that follows the match, ties to the most recent.
  Draft draft(std::int32_t k, std::int32_t visit_cap);

  // Up to `k` tokens of the text from a place on, never past a separator; none for a place that is
  // not in the text. The place may lie behind its document's end, where the next one is joined.
  Draft read(Place place, std::int32_t k) const;

  // The text's length, separators included.
  std::int32_t n_tokens() const { return automaton_.n_tokens(); }
  std::size_t memory_bytes() const;
  std::string check_integrity() { return automaton_.check_integrity(); }

 private:
  SuffixAutomaton automaton_;
  std::vector<Document> documents_;
  std::int32_t n_separators_ = 0;
};

}  // namespace agspec
