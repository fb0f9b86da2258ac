#include <stdexcept>
#include <vector>

#include "agspec/corpus.hpp"
#include "check.hpp"

namespace {

using agspec::Draft;
using agspec::SessionCorpus;
using agspec::Token;
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

void negative_ids_are_refused() {
  SessionCorpus corpus;
  corpus.begin_document(false, 0);
  bool refused = false;
  try {
    corpus.append(Text{1, -5});
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
  CHECK(corpus.n_tokens() == 0);
}

}  // namespace

int main() {
  a_session_draft_names_its_document();
  a_joined_document_is_read_through();
  tokens_need_a_document();
  negative_ids_are_refused();
}
