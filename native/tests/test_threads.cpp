// One thread indexes, another one drafts. Run it in the build with the thread sanitizer as well.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "agspec/handover.hpp"
#include "agspec/workspace_corpus.hpp"
#include "check.hpp"

namespace {

using agspec::Token;
using agspec::WorkspaceCorpus;
using Text = std::vector<Token>;

constexpr Token kCall = 1'000'000;  // Begins every document; its tokens come behind.

// Document `id` as it stands in the corpus: a call, and tokens that say which document it is.
Text document(std::int32_t id) {
  Text text{kCall};
  for (Token i = 0; i < 2000; ++i) text.push_back(id * 4 + i % 4);
  return text;
}

// Takes half of the documents out again while it adds others, and rebuilds when that is due.
// Documents below `n_dead` are never live again.
void index(WorkspaceCorpus& corpus, std::int32_t n_documents, std::atomic<std::int32_t>& n_dead) {
  for (std::int32_t id = 0; id < n_documents; ++id) {
    CHECK(corpus.add(document(id)) == id);
    if (id % 8 != 7) continue;
    std::vector<std::int32_t> old;
    for (std::int32_t i = n_dead.load(); i < id - 3; ++i) old.push_back(i);
    corpus.forget(old);
    n_dead.store(id - 3);
    if (corpus.rebuild_due()) corpus.rebuild();
  }
}

// Every draft comes from one document, which was not dead yet when it was asked for.
void drafts_come_from_live_text_while_documents_come_and_go() {
  WorkspaceCorpus corpus;
  std::atomic<std::int32_t> n_dead = 0;
  std::atomic<bool> done = false;
  std::thread indexing([&] {
    index(corpus, 200, n_dead);
    done.store(true);
  });
  agspec::Cursor cursor = corpus.cursor();
  std::int32_t n_drafts = 0;
  while (!done.load()) {
    if (!corpus.read(cursor, Text{7, kCall})) continue;
    const std::int32_t n_dead_before = n_dead.load();
    corpus.match_length(cursor);
    const agspec::Draft draft = corpus.draft(cursor, 8);
    if (draft.ids.empty()) continue;
    ++n_drafts;
    CHECK(draft.place.document >= n_dead_before);
    CHECK(draft.place.offset == 1);
    for (std::size_t i = 0; i < draft.ids.size(); ++i) {
      CHECK(draft.ids[i] == draft.place.document * 4 + static_cast<Token>(i % 4));
    }
  }
  indexing.join();
  CHECK(n_drafts > 0);
  CHECK(corpus.check_integrity().empty());
}

// A thread that takes the lock again as soon as it has given it up lets a waiting one in between.
void a_question_waits_for_one_slice() {
  agspec::HandoverMutex mutex;
  std::atomic<bool> done = false;
  std::atomic<int> n_slices = 0;
  std::thread slicing([&] {
    while (!done.load()) {
      const agspec::SliceLock slice(mutex);
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
      while (std::chrono::steady_clock::now() < end) {
      }
      ++n_slices;
    }
  });
  std::vector<int> n_waited;
  for (int question = 0; question < 300; ++question) {
    const int n_before = n_slices.load();
    {
      const agspec::QuestionLock lock(mutex, std::chrono::seconds(10));
      CHECK(lock);
      n_waited.push_back(n_slices.load() - n_before);
    }
    std::this_thread::yield();
  }
  done.store(true);
  slicing.join();
  // Any number of slices may pass before the lock is asked for, should this thread be put aside
  // just then; that is rare.
  std::sort(n_waited.begin(), n_waited.end());
  CHECK(n_waited[n_waited.size() * 9 / 10] <= 2);
}

// As if the system had put the thread aside in the middle of a slice.
void a_question_is_given_up_when_a_slice_takes_too_long() {
  agspec::HandoverMutex mutex;
  std::atomic<bool> asked = false;
  std::atomic<bool> held = false;
  std::thread slicing([&] {
    const agspec::SliceLock slice(mutex);
    held.store(true);
    held.notify_all();
    asked.wait(false);
  });
  held.wait(false);
  CHECK(!mutex.lock_within(std::chrono::microseconds(500)));
  asked.store(true);
  asked.notify_all();
  slicing.join();
  CHECK(mutex.lock_within(std::chrono::microseconds(500)));
  mutex.unlock();
  const agspec::SliceLock slice(mutex);  // Nobody counts as waiting any more.
}

}  // namespace

int main() {
  drafts_come_from_live_text_while_documents_come_and_go();
  a_question_waits_for_one_slice();
  a_question_is_given_up_when_a_slice_takes_too_long();
}
