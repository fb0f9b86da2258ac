#include "agspec/suffix_array.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace agspec {
namespace {

constexpr std::int32_t kGroup = 3;      // Tokens in a group.
constexpr std::int32_t kBlock = 256;    // Suffixes in a block of the order.
constexpr std::int32_t kStrides = 64;   // Suffixes looked at one by one before galloping.
constexpr std::int32_t kReadCost = 8;   // Visits that a look into the text counts as.

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

SuffixArray::SuffixArray(std::span<const Token> text, std::span<const Position> order,
                         std::span<const std::uint8_t> shared, std::int32_t n_vocab)
    : text_(text), order_(order), shared_(shared) {
  if (text.size() >= (std::size_t{1} << 30)) throw std::invalid_argument("the text is too long");
  if (n_vocab < 0 || n_vocab > kMostVocab) throw std::invalid_argument("n_vocab is out of range");
  if (order.size() != text.size() || shared.size() != text.size()) {
    throw std::invalid_argument("text, order and shared prefixes differ in length");
  }
  first_.assign(at(n_vocab) + 1, 0);
  std::int32_t n_separators = 0;
  for (const Token token : text) {
    if (token >= n_vocab) throw std::invalid_argument("a token id is not below n_vocab");
    if (is_separator(token)) {
      ++n_separators;
    } else {
      ++first_[at(token) + 1];
    }
  }
  first_[0] = n_separators;
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<bool> seen(text.size());
  block_last_.assign((text.size() + at(kBlock) - 1) / at(kBlock), kNoPosition);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto position = static_cast<std::size_t>(static_cast<std::uint32_t>(order[i]));
    if (position >= text.size() || seen[position]) {
      throw std::invalid_argument("the order does not hold every position once");
    }
    seen[position] = true;
    Position& last = block_last_[i / at(kBlock)];
    last = std::max(last, order[i]);
  }
}

// First suffix of a range whose next token is not less than `token`. Separators are less than all.
std::int32_t SuffixArray::first_not_below(const SuffixRange& range, Token wanted) const {
  std::int32_t begin = range.begin, end = range.end;
  while (begin < end) {
    const std::int32_t middle = begin + (end - begin) / 2;
    if (token(suffix(middle) + range.length) < wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

bool SuffixArray::narrow(SuffixRange& range, Token wanted) const {
  if (is_separator(wanted) || range.begin >= range.end || range.length >= kMostMatched) {
    return false;
  }
  if (range.length == 0) {
    if (at(wanted) + 1 >= first_.size() || first_[at(wanted)] == first_[at(wanted) + 1]) {
      return false;
    }
    range = {first_[at(wanted)], first_[at(wanted) + 1], 1};
    return true;
  }
  // Within a copy all of them go on alike.
  const Token low = token(suffix(range.begin) + range.length);
  const Token high = token(suffix(range.end - 1) + range.length);
  if (wanted < low || wanted > high) return false;
  if (low != high) {
    const std::int32_t begin = low == wanted ? range.begin : first_not_below(range, wanted);
    if (begin == range.end || token(suffix(begin) + range.length) != wanted) return false;
    const SuffixRange rest{begin, range.end, range.length};
    range.end = high == wanted ? range.end : first_not_below(rest, wanted + 1);
    range.begin = begin;
  }
  ++range.length;
  return true;
}

SuffixRange SuffixArray::find(std::span<const Token> tokens) const {
  SuffixRange range = all();
  for (const Token token : tokens) {
    if (!narrow(range, token)) return {};
  }
  return range;
}

// A suffix that occurs has only suffixes that occur: the length is found by doubling and halving.
SuffixRange SuffixArray::longest_suffix(std::span<const Token> context, std::int32_t most,
                                        bool most_first) const {
  most = std::min({most, kMostMatched, static_cast<std::int32_t>(context.size())});
  SuffixRange best = all();
  std::int32_t too_long = most + 1;
  const auto attempt = [&](std::int32_t length) {
    const SuffixRange range = find(context.last(at(length)));
    if (range.length == length) {
      best = range;
    } else {
      too_long = length;
    }
  };
  if (most_first && most > 0) attempt(most);
  const std::int32_t limit = too_long;
  while (too_long == limit && best.length + 1 < too_long) {
    attempt(std::min(std::max(1, 2 * best.length), too_long - 1));
  }
  while (best.length + 1 < too_long) attempt(best.length + (too_long - best.length) / 2);
  return best;
}

bool SuffixArray::is_full_group(Position start) const {
  return !is_separator(token(start)) && !is_separator(token(start + 1)) &&
         !is_separator(token(start + 2));
}

bool SuffixArray::same_group(Position a, Position b) const {
  for (std::int32_t i = 0; i < kGroup; ++i) {
    if (token(a + i) != token(b + i) || is_separator(token(a + i))) return false;
  }
  return true;
}

// Largest position among order[begin], …, order[end - 1].
Position SuffixArray::last_suffix(std::int32_t begin, std::int32_t end) const {
  Position last = kNoPosition;
  while (begin < end) {
    if (begin % kBlock == 0 && end - begin >= kBlock) {
      last = std::max(last, block_last_[at(begin / kBlock)]);
      begin += kBlock;
    } else {
      last = std::max(last, suffix(begin++));
    }
  }
  return last;
}

// End of the run of one group that holds order[begin], …, order[known - 1].
std::int32_t SuffixArray::group_end(std::int32_t begin, std::int32_t known,
                                    const SuffixRange& range) const {
  std::int32_t end = known;
  while (end < range.end && shared(end) >= range.length + kGroup) {
    if (++end - known == kStrides) break;
  }
  if (end - known < kStrides) return end;
  const Position start = suffix(begin) + range.length;
  const auto in_run = [&](std::int32_t i) {
    return i < range.end && same_group(start, suffix(i) + range.length);
  };
  std::int32_t stride = kStrides;
  while (in_run(end + stride - 1)) {
    end += stride;
    stride *= 2;
  }
  std::int32_t outside = end + stride - 1;
  while (end < outside) {
    const std::int32_t middle = end + (outside - end) / 2;
    if (in_run(middle)) {
      end = middle + 1;
    } else {
      outside = middle;
    }
  }
  return end;
}

// Groups are runs in the order, and a shared prefix of less than `need` begins one. To find a run
// of at least `n` it is enough to look from the end of a window of `n` back to the first such place.
// A group that occurs twice is full, since every separator occurs once.
Position SuffixArray::repeated_group(const SuffixRange& range, std::int32_t visit_cap) const {
  const std::int32_t need = range.length + kGroup;
  Position best = kNoPosition;
  std::int32_t n = 2, n_visited = 0;
  std::int32_t begin = range.begin, known = begin + 1;
  while (n <= range.end - begin && n_visited < visit_cap) {
    const std::int32_t window = begin + n;
    std::int32_t i = window - 1;
    while (i >= known && shared(i) >= need) --i;
    n_visited += window - i;
    if (i >= known) {
      begin = i;
      known = window;
      continue;
    }
    const std::int32_t end = group_end(begin, window, range);
    const Position last = last_suffix(begin, end);
    if (end - begin > n || last > best) best = last;
    n_visited += std::min(end - window, kStrides);
    n = end - begin;
    begin = end;
    known = begin + 1;
  }
  return best == kNoPosition ? best : best + range.length;
}

// Reads the text behind every suffix, which costs far more than a step of `repeated_group`.
Position SuffixArray::most_recent(const SuffixRange& range, std::int32_t visit_cap) const {
  Position full = kNoPosition, any = kNoPosition;
  const std::int32_t end = std::min<std::int64_t>(range.end, std::int64_t{range.begin} + visit_cap);
  for (std::int32_t i = range.begin; i < end; ++i) {
    const Position start = suffix(i) + range.length;
    if (start > full && is_full_group(start)) full = start;
    if (start > any && !is_separator(token(start))) any = start;
  }
  return full == kNoPosition ? any : full;
}

Position SuffixArray::most_frequent_group(const SuffixRange& range, std::int32_t visit_cap) const {
  if (range.length < 1 || visit_cap < 1) return kNoPosition;
  const Position repeated = repeated_group(range, visit_cap);
  return repeated == kNoPosition ? most_recent(range, visit_cap / kReadCost + 1) : repeated;
}

std::vector<Token> SuffixArray::copy(Position start, std::int32_t k) const {
  std::vector<Token> copied;
  for (std::int32_t i = 0; i < k && start >= 0 && !is_separator(token(start + i)); ++i) {
    copied.push_back(token(start + i));
  }
  return copied;
}

std::size_t SuffixArray::memory_bytes() const {
  return sizeof(*this) + first_.capacity() * sizeof(first_[0]) +
         block_last_.capacity() * sizeof(block_last_[0]);
}

std::string SuffixArray::check_integrity() const {
  for (std::int32_t i = 0; i < n_tokens(); ++i) {
    if (i == 0) {
      if (shared(0) != 0) return "the first suffix shares a prefix";
      continue;
    }
    const Position a = suffix(i - 1), b = suffix(i);
    std::int32_t n = 0;
    while (n < kMostShared && token(a + n) == token(b + n) && !is_separator(token(a + n))) ++n;
    if (shared(i) != n) return "a shared prefix is wrong at place " + std::to_string(i);
    if (n == kMostShared) continue;
    const Token x = token(a + n), y = token(b + n);
    const bool a_ends = a + n >= n_tokens(), b_ends = b + n >= n_tokens();
    const bool right = is_separator(x) && is_separator(y) ? a_ends || (!b_ends && a + n < b + n)
                                                          : x < y;
    if (!right) return "the order is wrong at place " + std::to_string(i);
  }
  return "";
}

ArrayCursor::ArrayCursor(const SuffixArray& array) : array_(&array), range_(array.all()) {}

void ArrayCursor::reset() {
  range_ = array_->all();
  context_.clear();
  n_unread_ = 0;
}

void ArrayCursor::advance(std::span<const Token> tokens) {
  const std::size_t most = at(kMostMatched);
  if (tokens.size() > most) tokens = tokens.last(most);
  context_.insert(context_.end(), tokens.begin(), tokens.end());
  n_unread_ += tokens.size();
  if (n_unread_ >= most) {  // What was matched before is out of reach.
    range_ = array_->all();
    n_unread_ = most;
  }
  // Only at twice the length, so that most calls need not move the tokens.
  if (context_.size() >= 2 * most) {
    context_.erase(context_.begin(), context_.end() - static_cast<std::ptrdiff_t>(most));
  }
}

const SuffixRange& ArrayCursor::match() {
  const bool at_most = range_.length == kMostMatched;
  while (n_unread_ > 0 && array_->narrow(range_, context_[context_.size() - n_unread_])) {
    --n_unread_;
  }
  if (n_unread_ > 0) {
    range_ = array_->longest_suffix(
        context_, range_.length + static_cast<std::int32_t>(n_unread_), at_most);
    n_unread_ = 0;
  }
  return range_;
}

}  // namespace agspec
