#include <stdexcept>
#include <vector>

#include "agspec/corpus.hpp"
#include "check.hpp"

namespace {

using agspec::Draft;
using agspec::SessionCorpus;
using agspec::Token;
using agspec::WorkspaceCorpus;
using Text = std::vector<Token>;

bool is(const Draft& draft, const Text& ids, std::int32_t document, std::int32_t offset) {
  return draft.ids == ids && draft.place.document == document && draft.place.offset == offset;
}

void a_session_draft_names_its_document() {
  SessionCorpus corpus;
  CHECK(corpus.begin_document(false, 0) == 0);
  corpus.append(Text{1, 2, 3, 4, 5});
  CHECK(corpus.begin_document(false, 0) == 1);
  corpus.append(Text{9, 2, 3});
  CHECK(corpus.n_tokens() == 9);
  CHECK(corpus.match_length() == 2);
  CHECK(is(corpus.draft(8, 2000), {4, 5}, 0, 3));
  CHECK(corpus.draft(0, 2000).ids.empty());
  CHECK(corpus.check_integrity().empty());
}

void a_joined_document_is_read_through() {
  SessionCorpus corpus;
  corpus.begin_document(false, 0);
  corpus.append(Text{1, 2});
  corpus.begin_document(true, 10);
  corpus.append(Text{3, 4});
  corpus.begin_document(false, 0);
  corpus.append(Text{1});
  CHECK(is(corpus.draft(8, 2000), {2, 3, 4}, 0, 1));
  corpus.append(Text{2});
  CHECK(is(corpus.draft(8, 2000), {3, 4}, 1, 10));
}

void tokens_need_a_document() {
  SessionCorpus corpus;
  bool refused = false;
  try {
    corpus.append(Text{1});
  } catch (const std::logic_error&) {
    refused = true;
  }
  CHECK(refused);
}

void a_workspace_draft_follows_the_first_occurrence_in_its_document() {
  WorkspaceCorpus corpus;
  corpus.add(Text{1, 2, 3});
  corpus.add(Text{7, 1, 2, 4, 5});
  agspec::Cursor cursor = corpus.cursor();
  cursor.advance(Text{8, 1, 2});
  CHECK(cursor.length() == 2);
  CHECK(is(corpus.draft(cursor, 8), {3}, 0, 2));
  cursor.advance(4);
  CHECK(cursor.length() == 3);
  CHECK(is(corpus.draft(cursor, 8), {5}, 1, 4));
  cursor.advance(6);
  CHECK(cursor.length() == 0);
  CHECK(corpus.draft(cursor, 8).ids.empty());
}

void forgotten_documents_are_not_found() {
  WorkspaceCorpus corpus;
  const auto first = corpus.add(Text{1, 2, 3});
  const auto second = corpus.add(Text{1, 2, 4});
  agspec::Cursor cursor = corpus.cursor();
  cursor.advance(Text{1, 2});
  corpus.forget(std::vector<std::int32_t>{first, 99});
  CHECK(corpus.n_tokens() == 3);
  CHECK(cursor.length() == 0);
  cursor.advance(Text{1, 2});
  CHECK(is(corpus.draft(cursor, 8), {4}, second, 2));
  CHECK(corpus.add(Text{5}) == 2);
  CHECK(corpus.check_integrity().empty());
}

void a_cursor_survives_a_split_of_its_state() {
  WorkspaceCorpus corpus;
  corpus.add(Text{1, 2, 3, 4});
  agspec::Cursor cursor = corpus.cursor();
  cursor.advance(Text{2, 3});
  corpus.add(Text{9, 2, 3, 5});
  CHECK(cursor.length() == 2);
  cursor.advance(5);
  CHECK(cursor.length() == 3);
}

}  // namespace

int main() {
  a_session_draft_names_its_document();
  a_joined_document_is_read_through();
  tokens_need_a_document();
  a_workspace_draft_follows_the_first_occurrence_in_its_document();
  forgotten_documents_are_not_found();
  a_cursor_survives_a_split_of_its_state();
}
