#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "agspec/workspace_corpus.hpp"
#include "check.hpp"

namespace {

using agspec::Cursor;
using agspec::Draft;
using agspec::Token;
using agspec::WorkspaceCorpus;
using Ids = std::vector<std::int32_t>;
using Text = std::vector<Token>;

bool is(const Draft& draft, const Text& ids, std::int32_t document, std::int32_t offset) {
  return draft.ids == ids && draft.place.document == document && draft.place.offset == offset;
}

// A cursor that has read these tokens.
Cursor reader(const WorkspaceCorpus& corpus, const Text& read) {
  Cursor cursor = corpus.cursor();
  corpus.advance(cursor, read);
  return cursor;
}

void a_draft_follows_the_first_occurrence_in_its_document() {
  WorkspaceCorpus corpus;
  corpus.add(Text{1, 2, 3});
  corpus.add(Text{7, 1, 2, 4, 5});
  Cursor cursor = reader(corpus, {8, 1, 2});
  CHECK(corpus.match_length(cursor) == 2);
  CHECK(is(corpus.draft(cursor, 8), {3}, 0, 2));
  CHECK(corpus.draft(cursor, 0).ids.empty());
  corpus.advance(cursor, Text{4});
  CHECK(corpus.match_length(cursor) == 3);
  CHECK(is(corpus.draft(cursor, 8), {5}, 1, 4));
  corpus.advance(cursor, Text{6});
  CHECK(corpus.match_length(cursor) == 0);
  CHECK(corpus.draft(cursor, 8).ids.empty());
}

void an_empty_corpus_matches_nothing() {
  WorkspaceCorpus corpus;
  Cursor cursor = reader(corpus, {1, 2});
  CHECK(corpus.match_length(cursor) == 0);
  CHECK(corpus.draft(cursor, 8).ids.empty());
  corpus.rebuild();
  corpus.forget(Ids{0, -1});
  CHECK(corpus.check_integrity().empty());
  CHECK(corpus.add(Text{}) == 0);
  CHECK(corpus.add(Text{1, 2, 3}) == 1);
  corpus.forget(Ids{0});
  corpus.advance(cursor, Text{2});
  CHECK(is(corpus.draft(cursor, 8), {3}, 1, 2));
  CHECK(corpus.check_integrity().empty());
}

void a_dead_first_occurrence_gives_way_to_the_newest_and_then_to_a_shorter_match() {
  WorkspaceCorpus corpus;
  for (const Token behind : {10, 11, 12}) corpus.add(Text{1, 2, 3, behind});
  corpus.add(Text{9, 3, 13});
  Cursor cursor = reader(corpus, {1, 2, 3});
  CHECK(is(corpus.draft(cursor, 1), {10}, 0, 3));
  corpus.forget(Ids{0, 99, -7});
  CHECK(corpus.match_length(cursor) == 3);
  CHECK(is(corpus.draft(cursor, 1), {12}, 2, 3));
  corpus.forget(Ids{2, 2});
  CHECK(corpus.match_length(cursor) == 1);
  CHECK(is(corpus.draft(cursor, 1), {13}, 3, 2));
  CHECK(corpus.n_tokens() == 7);
  CHECK(corpus.n_dead_tokens() == 8);
  CHECK(corpus.check_integrity().empty());
}

void a_rebuild_keeps_live_documents_with_their_numbers_and_their_order() {
  WorkspaceCorpus corpus;
  for (const Token behind : {10, 11, 12}) corpus.add(Text{1, 2, 3, behind});
  corpus.forget(Ids{0});
  Cursor cursor = reader(corpus, {1, 2, 3});
  const auto before = corpus.version();
  corpus.rebuild();
  CHECK(corpus.version() > before);
  CHECK(corpus.match_length(cursor) == 0);
  corpus.advance(cursor, Text{1, 2, 3});
  CHECK(is(corpus.draft(cursor, 1), {11}, 1, 3));
  CHECK(corpus.n_dead_tokens() == 0);
  CHECK(corpus.n_tokens() == 8);
  CHECK(corpus.add(Text{5}) == 3);
  CHECK(corpus.check_integrity().empty());
}

void a_rebuild_is_due_when_more_is_dead_than_live() {
  WorkspaceCorpus corpus;
  corpus.add(Text{1, 2, 3});
  corpus.forget(Ids{0});
  CHECK(!corpus.rebuild_due());
  for (int i = 0; i < 5; ++i) corpus.add(Text(2000, i));
  corpus.forget(Ids{1, 2});
  CHECK(!corpus.rebuild_due());
  corpus.forget(Ids{3});
  CHECK(corpus.rebuild_due());
  const auto n_bytes = corpus.memory_bytes();
  corpus.rebuild();
  CHECK(!corpus.rebuild_due());
  CHECK(corpus.memory_bytes() < n_bytes);
  CHECK(corpus.check_integrity().empty());
}

void negative_ids_are_refused_and_change_nothing() {
  WorkspaceCorpus corpus;
  bool refused = false;
  try {
    corpus.add(Text{1, -1});
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
  CHECK(corpus.n_added() == 0);
  CHECK(corpus.check_integrity().empty());
}

void a_cursor_survives_a_split_of_its_state() {
  WorkspaceCorpus corpus;
  corpus.add(Text{1, 2, 3, 4});
  Cursor cursor = reader(corpus, {2, 3});
  corpus.add(Text{9, 2, 3, 5});
  CHECK(corpus.match_length(cursor) == 2);
  corpus.advance(cursor, Text{5});
  CHECK(corpus.match_length(cursor) == 3);
}

// Runs and broken runs, whose occurrences are deferred, settled in slices, and found again.
void long_runs_are_settled_when_they_are_in() {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    WorkspaceCorpus corpus;
    Ids dead;
    for (int document = 0; document < 6; ++document) {
      Text text;
      for (int part = 0; part < 3; ++part) {
        text.insert(text.end(), 100 + random() % 2000, static_cast<Token>(random() % 2));
        text.push_back(static_cast<Token>(2 + random() % 3));
      }
      const auto id = corpus.add(text);
      if (random() % 2 == 0) dead.push_back(id);
    }
    corpus.forget(dead);
    CHECK(corpus.check_integrity().empty());
    Cursor cursor = reader(corpus, Text(300, 1));
    const Draft draft = corpus.draft(cursor, 5);
    CHECK(std::find(dead.begin(), dead.end(), draft.place.document) == dead.end());
  }
}

}  // namespace

int main() {
  a_draft_follows_the_first_occurrence_in_its_document();
  an_empty_corpus_matches_nothing();
  a_dead_first_occurrence_gives_way_to_the_newest_and_then_to_a_shorter_match();
  a_rebuild_keeps_live_documents_with_their_numbers_and_their_order();
  a_rebuild_is_due_when_more_is_dead_than_live();
  negative_ids_are_refused_and_change_nothing();
  a_cursor_survives_a_split_of_its_state();
  long_runs_are_settled_when_they_are_in();
}
