// Times the session corpus: appends, and match + draft at the end of the text.
//
//   bench_automaton [TOKENS]    TOKENS is a file of int32 ids; without it a stream is made up.
//
// Prints one JSON object a line for growing texts. One core, one run.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <vector>

#include "agspec/corpus.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kQueries = 20'000;
constexpr std::int32_t kDraft = 16;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// Text like a session's: fresh words of a skewed vocabulary, and copies of earlier stretches.
std::vector<agspec::Token> made_up_stream(std::size_t n) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(1e-6, 1.0);
  std::vector<agspec::Token> stream;
  while (stream.size() < n) {
    const std::size_t length = 5 + random() % 60;
    if (stream.size() > 1000 && random() % 2 == 0) {
      const std::size_t from = random() % (stream.size() - 100);
      for (std::size_t i = 0; i < length; ++i) stream.push_back(stream[from + i]);
    } else {
      for (std::size_t i = 0; i < length; ++i) {
        // Ranks with a density that falls as 1/x, as those of words do.
        stream.push_back(static_cast<agspec::Token>(std::min(1.0 / uniform(random), 49'000.0)));
      }
    }
  }
  stream.resize(n);
  return stream;
}

std::vector<agspec::Token> read_stream(const char* path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamsize n_bytes = std::max<std::streamsize>(file.tellg(), 0);
  std::vector<agspec::Token> stream(static_cast<std::size_t>(n_bytes) / sizeof(agspec::Token));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(stream.data()), n_bytes);
  return stream;
}

void measure(const char* corpus_name, const std::vector<agspec::Token>& stream, std::size_t n) {
  agspec::SessionCorpus corpus;
  corpus.begin_document(false, 0);
  const std::size_t n_bulk = n - kQueries;
  const auto start = Clock::now();
  corpus.append({stream.data(), n_bulk});
  const double append_us = microseconds(Clock::now() - start) / static_cast<double>(n_bulk);
  std::vector<double> query_us;
  std::size_t n_drafted = 0;
  for (std::size_t i = n_bulk; i < n; ++i) {
    corpus.append({stream.data() + i, 1});
    const auto asked = Clock::now();
    if (corpus.match_length() > 0) n_drafted += corpus.draft(kDraft, agspec::kVisitCap).ids.size();
    query_us.push_back(microseconds(Clock::now() - asked));
  }
  std::sort(query_us.begin(), query_us.end());
  std::printf(
      "{\"engine\": \"automaton\", \"corpus\": \"%s\", \"n_tokens\": %zu, \"append_us\": %.3f, "
      "\"query_us_p50\": %.3f, \"query_us_p99\": %.3f, \"bytes_per_token\": %.1f, "
      "\"n_drafted\": %zu}\n",
      corpus_name, n, append_us, query_us[kQueries / 2], query_us[kQueries * 99 / 100],
      static_cast<double>(corpus.memory_bytes()) / static_cast<double>(n), n_drafted);
}

}  // namespace

int main(int argc, char** argv) {
  const auto stream = argc > 1 ? read_stream(argv[1]) : made_up_stream(1'000'000);
  if (stream.size() < 2 * kQueries) {
    std::fprintf(stderr, "at least %zu tokens are needed\n", 2 * kQueries);
    return 2;
  }
  const char* name = argc > 1 ? argv[1] : "made-up";
  for (std::size_t n = 100'000; n < stream.size(); n *= 10) measure(name, stream, n);
  measure(name, stream, stream.size());
}
