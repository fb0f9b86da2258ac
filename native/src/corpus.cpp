#include "agspec/corpus.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

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

Draft SessionCorpus::read(Place place, std::int32_t k) const {
  if (place.document < 0 || std::cmp_greater_equal(place.document, documents_.size())) return {};
  const Document& document = documents_[static_cast<std::size_t>(place.document)];
  if (place.offset < document.offset) return {};
  const std::int64_t start = std::int64_t{document.start} + (place.offset - document.offset);
  if (start >= automaton_.n_tokens()) return {};
  const auto position = static_cast<Position>(start);
  std::vector<Token> ids = automaton_.copy(position, k, false);
  if (ids.empty()) return {};
  return {std::move(ids), locate(documents_, position)};
}

std::size_t SessionCorpus::memory_bytes() const {
  return automaton_.memory_bytes() + documents_.capacity() * sizeof(Document);
}

}  // namespace agspec
