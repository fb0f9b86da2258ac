// Drafts from the suffix tree, and where they come from.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "agspec/suffix_tree.hpp"

namespace agspec {
namespace {

void require_valid(const DraftRule& rule) {
  if (!std::isfinite(rule.factor) || !std::isfinite(rule.offset) || !(rule.factor >= 0)) {
    throw std::invalid_argument("factor and offset must be finite, and the factor not negative");
  }
  if (std::isnan(rule.min_prob)) throw std::invalid_argument("the probability must be a number");
}

}  // namespace

TreeDraft SuffixTree::draft(std::span<const Token> context, const DraftRule& rule) {
  require_valid(rule);
  if (context.size() < 2) return {};
  const auto n = std::min(context.size() - 1, static_cast<std::size_t>(depth_));
  End end;
  for (const Token token : context.last(n)) {
    if (is_separator(token)) throw std::invalid_argument("token ids must not be negative");
    StateId here = next(end.state, token);
    while (end.state != kRoot && (here == kNoState || states_[here].count == 0)) {
      end.state = states_[end.state].link;
      end.length = states_[end.state].length;
      here = next(end.state, token);
    }
    if (here == kNoState || states_[here].count == 0) continue;
    end = {here, end.length + 1};
  }
  return best_draft(end.state, end.length, rule);
}

TreeDraft SuffixTree::draft_sequence(std::int32_t sequence, const DraftRule& rule) {
  require_valid(rule);
  const auto found = sequences_.find(sequence);
  if (found == sequences_.end()) throw std::out_of_range("the tree has no such sequence");
  settle(found->second.end);
  End end = found->second.end;
  end.length = std::min(end.length, found->second.n_tokens - 1);
  settle(end);
  return best_draft(end.state, end.length, rule);
}

// Most tokens behind a match of this length: what the rule allows and what the depth leaves. The
// types are those of arctic-inference, so that the rounding is the same.
std::int32_t SuffixTree::limit(std::int32_t match_length, const DraftRule& rule) const {
  const float scaled = static_cast<float>(match_length) * rule.factor + rule.offset;
  const double most = static_cast<double>(scaled) + 1e-6;
  const std::int32_t k = std::min(rule.k, depth_ - match_length);
  if (most >= static_cast<double>(k)) return k;
  return most > 0 ? static_cast<std::int32_t>(most) : 0;
}

// All matches of one state are followed by the same path, and differ only in how far they may go
// along it. A score is at most the number of tokens, which bounds what shorter matches can reach.
TreeDraft SuffixTree::best_draft(StateId state, std::int32_t length, const DraftRule& rule) {
  TreeDraft best;
  best.match_length = length;
  StateId first = kNoState;
  for (; state != kRoot; state = states_[state].link) {
    const std::int32_t longest = std::min(length, states_[state].length);
    const std::int32_t shorter = states_[states_[state].link].length;
    std::int32_t k = 0;
    for (std::int32_t m = longest; m > shorter; --m) k = std::max(k, limit(m, rule));
    if (static_cast<float>(k) <= best.score) continue;
    follow(state, k, rule.min_prob);
    const float score = path_.sums.back();
    if (!(score > best.score)) continue;
    const auto n_path = static_cast<std::int32_t>(path_.ids.size());
    for (std::int32_t m = longest; m > shorter; --m) {
      const std::int32_t n = std::min(limit(m, rule), n_path);
      if (path_.sums[static_cast<std::size_t>(n)] != score) continue;
      best.ids.assign(path_.ids.begin(), path_.ids.begin() + n);
      best.match_length = m;
      break;
    }
    best.score = score;
    first = path_.first;
  }
  if (!best.ids.empty()) best.place = place_of(first);
  return best;
}

// Follows the first children for at most `k` tokens, while the path's probability is large enough.
void SuffixTree::follow(StateId state, std::int32_t k, float min_prob) {
  path_.ids.clear();
  path_.sums.assign(1, 0.0F);
  float prob = 1.0F;
  for (std::int32_t i = 0; i < k; ++i) {
    const State& here = states_[state];
    Token token = here.token;
    StateId target = here.target;
    if (token == kNoToken) break;
    if (token == kBranching) {
      token = edges_[here.target].token;
      target = edges_[here.target].target;
    }
    const std::int32_t count = states_[target].count;
    if (count == 0) break;
    prob *= static_cast<float>(count) / static_cast<float>(here.count);
    if (!(prob >= min_prob)) break;
    path_.ids.push_back(token);
    path_.sums.push_back(path_.sums.back() + prob);
    if (i == 0) path_.first = target;
    state = target;
  }
}

Place SuffixTree::place_of(StateId state) {
  if (stale_) read_places();
  const Position position = states_[state].last;
  const auto behind =
      std::upper_bound(runs_.begin(), runs_.end(), position,
                       [](Position value, const Run& run) { return value < run.start; });
  const Run& run = *std::prev(behind);
  return {run.sequence, run.offset + position - run.start};
}

// Reads what is left after removals again, in the order of appending, for the last positions.
void SuffixTree::read_places() {
  std::unordered_map<std::int32_t, End> ends;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    if (runs_[run].sequence < 0) continue;
    End& end = ends[runs_[run].sequence];
    for (Position position = runs_[run].start; position < run_end(run); ++position) {
      const StateId here = next(end.state, text_[position]);
      for (StateId state = here; state != kRoot; state = states_[state].link) {
        states_[state].last = position;
      }
      advance(end, here);
    }
  }
  stale_ = false;
}

}  // namespace agspec
