// Times the session corpus: appends, and match + draft at the end of the text.
//
//   bench_automaton [TOKENS]    TOKENS is a file of int32 ids; without it a stream is made up.
//
// Prints one JSON object a line, at 10 k, 100 k and 1 M tokens. A query is a match and a draft of 16
// tokens, copied out, at each of the last tokens. One core, one run.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "agspec/corpus.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxQueries = 100'000;
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

// Appends the first part of `n` tokens at once and the last part one by one, with a query at each.
void measure(const char* corpus_name, const std::vector<agspec::Token>& stream, std::size_t n) {
  agspec::SessionCorpus corpus;
  corpus.begin_document(false, 0);
  const std::size_t n_bulk = n - std::min(n / 2, kMaxQueries);
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
  const std::size_t n_queries = query_us.size();
  std::printf(
      "{\"engine\": \"automaton\", \"corpus\": \"%s\", \"n_tokens\": %zu, \"append_us\": %.3f, "
      "\"query_us_p50\": %.3f, \"query_us_p99\": %.3f, \"query_us_max\": %.1f, "
      "\"bytes_per_token\": %.1f, \"n_queries\": %zu, \"n_drafted\": %zu}\n",
      corpus_name, n, append_us, query_us[n_queries / 2], query_us[n_queries * 99 / 100],
      query_us.back(), static_cast<double>(corpus.memory_bytes()) / static_cast<double>(n),
      n_queries, n_drafted);
}

}  // namespace

int main(int argc, char** argv) {
  const auto stream = argc > 1 ? read_stream(argv[1]) : made_up_stream(1'000'000);
  if (stream.empty()) {
    std::fprintf(stderr, "no tokens in %s\n", argv[1]);
    return 2;
  }
  const std::string path = argc > 1 ? argv[1] : "made-up";
  const std::string name = path.substr(path.find_last_of('/') + 1);
  for (std::size_t n = 10'000; n <= std::min<std::size_t>(stream.size(), 1'000'000); n *= 10) {
    measure(name.c_str(), stream, n);
  }
  if (stream.size() < 10'000) measure(name.c_str(), stream, stream.size());
}
