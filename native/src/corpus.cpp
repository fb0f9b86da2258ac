#include "agspec/corpus.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace agspec {
namespace {

// The separator number `n` of a text; no two are equal.
Token separator(std::int32_t n) { return -1 - n; }

}  // namespace

Place locate(std::span<const Document> documents, Position position) {
  const auto behind = std::upper_bound(
      documents.begin(), documents.end(), position,
      [](Position value, const Document& document) { return value < document.start; });
  const Document& document = *std::prev(behind);
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
  automaton_.append(tokens);
  documents_.back().n_tokens += static_cast<std::int32_t>(tokens.size());
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

std::int32_t WorkspaceCorpus::add(std::span<const Token> tokens) {
  const std::int32_t id = n_added_++;
  index(id, tokens);
  return id;
}

void WorkspaceCorpus::index(std::int32_t id, std::span<const Token> tokens) {
  if (automaton_.n_tokens() > 0) {
    automaton_.append(separator(static_cast<std::int32_t>(documents_.size())));
  }
  const auto n = static_cast<std::int32_t>(tokens.size());
  documents_.push_back({id, automaton_.n_tokens(), n, 0});
  automaton_.append(tokens);
  n_tokens_ += n;
}

void WorkspaceCorpus::forget(std::span<const std::int32_t> ids) {
  std::vector<std::pair<std::int32_t, std::vector<Token>>> kept;
  for (const Document& document : documents_) {
    if (std::find(ids.begin(), ids.end(), document.id) != ids.end()) continue;
    std::vector<Token> tokens;
    tokens.reserve(static_cast<std::size_t>(document.n_tokens));
    for (std::int32_t i = 0; i < document.n_tokens; ++i) {
      tokens.push_back(automaton_.token(document.start + i));
    }
    kept.emplace_back(document.id, std::move(tokens));
  }
  if (kept.size() == documents_.size()) return;
  automaton_.clear();
  documents_.clear();
  n_tokens_ = 0;
  for (const auto& [id, tokens] : kept) index(id, tokens);
}

Draft WorkspaceCorpus::draft(Cursor& cursor, std::int32_t k) const {
  if (k <= 0 || cursor.length() == 0) return {};
  const Position start = automaton_.first_end(cursor.state()) + 1;
  std::vector<Token> ids = automaton_.copy(start, k, false);
  if (ids.empty()) return {};
  return {std::move(ids), locate(documents_, start)};
}

std::size_t WorkspaceCorpus::memory_bytes() const {
  return automaton_.memory_bytes() + documents_.capacity() * sizeof(Document);
}

}  // namespace agspec
