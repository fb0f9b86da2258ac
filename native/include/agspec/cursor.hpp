// A place in an automaton that follows another text token by token.
#pragma once

#include <cstdint>
#include <span>

#include "agspec/suffix_automaton.hpp"
#include "agspec/token.hpp"

namespace agspec {

// Keeps the longest suffix of the tokens it was advanced over that occurs in a corpus. Amortised
// O(1) a token. Text that is added to the corpus later is found from the next tokens on; a new
// epoch of the automaton resets the cursor. The automaton must outlive it.
class Cursor {
 public:
  explicit Cursor(const SuffixAutomaton& automaton);

  // Forgets the tokens it was advanced over.
  void reset();

  void advance(Token token);
  void advance(std::span<const Token> tokens);

  // Tokens in the match; 0 if nothing matches.
  std::int32_t length();

  // The state that holds the match; the root if nothing matches.
  StateId state();

 private:
  void refresh();

  const SuffixAutomaton* automaton_;
  std::uint64_t epoch_;
  StateId state_ = kRoot;
  std::int32_t length_ = 0;
};

}  // namespace agspec
