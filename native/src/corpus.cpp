#include "agspec/corpus.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace agspec {

const Document& document_at(std::span<const Document> documents, Position position) {
  const auto behind = std::upper_bound(
      documents.begin(), documents.end(), position,
      [](Position value, const Document& document) { return value < document.start; });
  return *std::prev(behind);
}

Place locate(std::span<const Document> documents, Position position) {
  const Document& document = document_at(documents, position);
  return {document.id, position - document.start + document.offset};
}

std::int32_t SessionCorpus::begin_document(bool joined, Position offset) {
  if (!joined && automaton_.n_tokens() > 0) automaton_.append(separator(n_separators_++));
  const auto id = static_cast<std::int32_t>(documents_.size());
  documents_.push_back({id, automaton_.n_tokens(), 0, offset});
  return id;
}

void SessionCorpus::append(std::span<const Token> tokens) {
  if (documents_.empty()) throw std::logic_error("no document was begun");
  if (std::any_of(tokens.begin(), tokens.end(), is_separator)) {
    throw std::invalid_argument("token ids must not be negative");
  }
  automaton_.append(tokens);
  documents_.back().n_tokens += static_cast<std::int32_t>(tokens.size());
}

Match SessionCorpus::match() {
  const std::int32_t length = automaton_.match_length();
  if (length == 0) return {};
  const StateId state = automaton_.match_state();
  // The context's own end is one of the occurrences.
  return {length, automaton_.count(state) - 1, automaton_.group_count(state)};
}

Draft SessionCorpus::draft(std::int32_t k, std::int32_t visit_cap) {
  if (k <= 0 || automaton_.match_length() == 0) return {};
  const Position start = automaton_.most_frequent_group(automaton_.match_state(), visit_cap);
  if (start == kNoPosition) return {};
  return {automaton_.copy(start, k, true), locate(documents_, start)};
}

std::size_t SessionCorpus::memory_bytes() const {
  return automaton_.memory_bytes() + documents_.capacity() * sizeof(Document);
}

}  // namespace agspec
