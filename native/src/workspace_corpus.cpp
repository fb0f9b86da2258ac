#include "agspec/workspace_corpus.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace agspec {
namespace {

constexpr std::size_t kSlice = 250;  // Tokens appended in one go, less than 0.1 ms.
constexpr std::size_t kSettleSteps = 1000;
// Edges that a slice may add before the table must grow within it; more are rare.
constexpr std::size_t kEdgesAhead = 8 * kSlice;
constexpr std::int32_t kMinDead = 4096;  // Tokens.


template <typename Array>
std::int32_t size_of(const Array& array) {
  return static_cast<std::int32_t>(array.size());
}

void begin_document(SuffixAutomaton& automaton, std::vector<Document>& documents,
                    std::int32_t id) {
  if (!documents.empty()) automaton.append(separator(size_of(documents)));
  documents.push_back({id, automaton.n_tokens(), 0, 0});
}

}  // namespace

// The edge table is made larger outside the lock: nobody else changes the automaton, and others only
// read it. For the same reason the questions must leave it as it is.
std::int32_t WorkspaceCorpus::add(std::span<const Token> tokens) {
  if (std::any_of(tokens.begin(), tokens.end(), is_separator)) {
    throw std::invalid_argument("token ids must not be negative");
  }
  const std::scoped_lock writing(writing_);
  automaton_.require_room(tokens.size() + 1);
  {
    const SliceLock slice(mutex_);
    begin_document(automaton_, documents_, n_added_);
  }
  for (auto rest = tokens; !rest.empty();) {
    const auto part = rest.first(std::min(kSlice, rest.size()));
    rest = rest.subspan(part.size());
    auto slots = automaton_.larger_slots(kEdgesAhead);
    const SliceLock slice(mutex_);
    if (!slots.empty()) automaton_.replace_slots(slots);
    automaton_.append(part);
    documents_.back().n_tokens += size_of(part);
  }
  for (bool settled = false; !settled;) {
    const SliceLock slice(mutex_);
    settled = automaton_.settle(kSettleSteps);
  }
  n_tokens_ += size_of(tokens);
  ++version_;
  return n_added_++;
}

void WorkspaceCorpus::forget(std::span<const std::int32_t> ids) {
  const std::scoped_lock writing(writing_);
  const SliceLock slice(mutex_);
  for (const std::int32_t id : ids) {
    const auto document = std::ranges::lower_bound(documents_, id, {}, &Document::id);
    if (document == documents_.end() || document->id != id || !document->live) continue;
    document->live = false;
    n_tokens_ -= document->n_tokens;
    n_dead_tokens_ += document->n_tokens;
  }
  ++version_;
}

bool WorkspaceCorpus::rebuild_due() const {
  return n_dead_tokens_ >= kMinDead && n_dead_tokens_ > n_tokens_;
}

void WorkspaceCorpus::rebuild() {
  const std::scoped_lock writing(writing_);
  SuffixAutomaton automaton(Keep::kEnds);
  std::vector<Document> documents;
  for (const Document& document : documents_) {
    if (!document.live) continue;
    begin_document(automaton, documents, document.id);
    for (std::int32_t i = 0; i < document.n_tokens; ++i) {
      automaton.append(automaton_.token(document.start + i));
    }
    documents.back().n_tokens = document.n_tokens;
  }
  automaton.settle();
  {
    const SliceLock slice(mutex_);
    automaton_.swap(automaton);
    documents_.swap(documents);
    n_dead_tokens_ = 0;
    ++version_;
  }
  // The old one is freed here, outside the lock.
}

Cursor WorkspaceCorpus::cursor() const {
  const SliceLock slice(mutex_);
  return Cursor(automaton_);
}

bool WorkspaceCorpus::read(Cursor& cursor, std::span<const Token> tokens) const {
  const QuestionLock question(mutex_);
  if (!question) return false;
  cursor.reset();
  cursor.advance(tokens);
  return true;
}

bool WorkspaceCorpus::advance(Cursor& cursor, std::span<const Token> tokens) const {
  const QuestionLock question(mutex_);
  if (!question) return false;
  cursor.advance(tokens);
  return true;
}

std::int32_t WorkspaceCorpus::match_length(Cursor& cursor) const {
  const QuestionLock question(mutex_);
  if (!question) return 0;
  return n_dead_tokens_ == 0 ? cursor.length() : find(cursor).length;
}

Draft WorkspaceCorpus::draft(Cursor& cursor, std::int32_t k) const {
  const QuestionLock question(mutex_);
  if (!question) return {};
  const Found found = find(cursor);
  if (found.length == 0) return {};
  std::vector<Token> ids = automaton_.copy(found.start, k, false);
  if (ids.empty()) return {};
  return {std::move(ids), locate(documents_, found.start)};
}

Draft WorkspaceCorpus::read_document(Place place, std::int32_t k) const {
  const QuestionLock question(mutex_);
  if (!question || place.offset < 0) return {};
  const auto document = std::ranges::lower_bound(documents_, place.document, {}, &Document::id);
  if (document == documents_.end() || document->id != place.document || !document->live) return {};
  if (place.offset >= document->n_tokens) return {};
  std::vector<Token> ids = automaton_.copy(document->start + place.offset, k, false);
  if (ids.empty()) return {};
  return {std::move(ids), place};
}

WorkspaceCorpus::Found WorkspaceCorpus::find(Cursor& cursor) const {
  StateId state = cursor.state();
  for (std::int32_t length = cursor.length(); length > 0; length = automaton_.length(state)) {
    const Position first = automaton_.first_end(state);
    if (n_dead_tokens_ == 0 || is_live(first)) return {length, first + 1};
    const Position last = automaton_.settled_last_end(state);
    if (is_live(last)) return {length, last + 1};
    state = automaton_.link(state);
  }
  return {};
}

bool WorkspaceCorpus::is_live(Position position) const {
  return document_at(documents_, position).live;
}

std::size_t WorkspaceCorpus::memory_bytes() const {
  const SliceLock slice(mutex_);
  return automaton_.memory_bytes() + documents_.capacity() * sizeof(Document);
}

std::string WorkspaceCorpus::check_integrity() {
  const std::scoped_lock writing(writing_);
  const SliceLock slice(mutex_);
  std::string found = automaton_.check_integrity();
  return found.empty() ? check_documents() : found;
}

std::string WorkspaceCorpus::check_documents() const {
  std::int32_t n_live = 0;
  std::int32_t n_dead = 0;
  Position end = 0;
  for (const Document& document : documents_) {
    const bool first = &document == &documents_.front();
    if (document.start != end + (first ? 0 : 1)) return "a document is not where another one ends";
    if (!first && !is_separator(automaton_.token(end))) return "two documents are not separated";
    if (!first && (&document)[-1].id >= document.id) return "documents are not in their order";
    end = document.start + document.n_tokens;
    (document.live ? n_live : n_dead) += document.n_tokens;
  }
  if (end != automaton_.n_tokens()) return "the last document does not end with the text";
  if (n_live != n_tokens_ || n_dead != n_dead_tokens_) return "the tokens are not counted right";
  return "";
}

}  // namespace agspec
