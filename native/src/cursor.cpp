#include "agspec/cursor.hpp"

namespace agspec {

Cursor::Cursor(const SuffixAutomaton& automaton)
    : automaton_(&automaton), epoch_(automaton.epoch()) {}

void Cursor::reset() {
  epoch_ = automaton_->epoch();
  state_ = kRoot;
  length_ = 0;
}

// Since the last visit the corpus may have got another text, or the state may have been split, in
// which case the match has gone to one of its suffix links.
void Cursor::refresh() {
  if (epoch_ != automaton_->epoch()) reset();
  while (state_ != kRoot && automaton_->length(automaton_->link(state_)) >= length_) {
    state_ = automaton_->link(state_);
  }
}

void Cursor::advance(Token token) {
  refresh();
  for (;;) {
    const StateId next = automaton_->next(state_, token);
    if (next != kNoState) {
      state_ = next;
      ++length_;
      return;
    }
    if (state_ == kRoot) return;
    state_ = automaton_->link(state_);
    length_ = automaton_->length(state_);
  }
}

void Cursor::advance(std::span<const Token> tokens) {
  for (const Token token : tokens) advance(token);
}

std::int32_t Cursor::length() {
  refresh();
  return length_;
}

StateId Cursor::state() {
  refresh();
  return state_;
}

}  // namespace agspec
