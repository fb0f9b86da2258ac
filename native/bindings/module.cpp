// The Python module `agspec_tui._native`. Its documentation is `agspec_tui/_native.pyi`.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "agspec/corpus.hpp"
#include "agspec/cursor.hpp"
#include "agspec/suffix_automaton.hpp"
#include "agspec/verify.hpp"

namespace py = pybind11;

namespace {

using agspec::CancelFlag;
using agspec::Cursor;
using agspec::SessionCorpus;
using agspec::SuffixAutomaton;
using agspec::Token;
using agspec::WorkspaceCorpus;
using Tokens = py::array_t<Token, py::array::c_style>;
using Floats = py::array_t<float, py::array::c_style>;

std::span<const Token> span_of(const Tokens& ids) {
  if (ids.ndim() != 1) throw std::invalid_argument("token ids must be a 1-d int32 array");
  return {ids.data(), static_cast<std::size_t>(ids.size())};
}

std::pair<std::size_t, Token> greedy_verify(const Floats& logits, const Tokens& draft) {
  const auto ids = span_of(draft);
  if (logits.ndim() != 2 || logits.shape(1) == 0) {
    throw std::invalid_argument("logits must have shape (n, n_vocab) with n_vocab > 0");
  }
  if (static_cast<std::size_t>(logits.shape(0)) != ids.size() + 1) {
    throw std::invalid_argument("logits must have one row more than the draft has tokens");
  }
  const float* rows = logits.data();
  const auto n_vocab = static_cast<std::size_t>(logits.shape(1));
  const py::gil_scoped_release release;
  const auto verdict = agspec::greedy_verify(rows, n_vocab, ids);
  return {verdict.n_accepted, verdict.bonus};
}

Token argmax(const Floats& row) {
  if (row.ndim() != 1 || row.size() == 0) {
    throw std::invalid_argument("row must be a 1-d float32 array that is not empty");
  }
  const std::span<const float> values{row.data(), static_cast<std::size_t>(row.size())};
  const py::gil_scoped_release release;
  return agspec::argmax(values);
}

void bind_verify(py::module_& m) {
  m.def("greedy_verify", &greedy_verify, py::arg("logits").noconvert(),
        py::arg("draft").noconvert());
  m.def("argmax", &argmax, py::arg("row").noconvert());
  py::class_<CancelFlag>(m, "CancelFlag", py::is_final())
      .def(py::init<>())
      .def("set", &CancelFlag::set)
      .def("clear", &CancelFlag::clear)
      .def("is_set", &CancelFlag::is_set)
      .def_property_readonly_static(
          "callback_address",
          [](const py::object&) {
            return reinterpret_cast<std::uintptr_t>(&agspec::agspec_cancel_requested);
          })
      .def_property_readonly("data_address", [](const CancelFlag& flag) {
        return reinterpret_cast<std::uintptr_t>(&flag);
      });
}

// The state of a substring; the root for one that does not occur.
agspec::StateId state_of(const SuffixAutomaton& automaton, std::span<const Token> tokens) {
  agspec::StateId state = agspec::kRoot;
  for (const Token token : tokens) {
    state = automaton.next(state, token);
    if (state == agspec::kNoState) return agspec::kRoot;
  }
  return state;
}

std::tuple<std::int32_t, agspec::Position, agspec::Position> occurrences(
    SuffixAutomaton& automaton, const Tokens& ids) {
  const auto state = state_of(automaton, span_of(ids));
  if (state == agspec::kRoot) return {0, agspec::kNoPosition, agspec::kNoPosition};
  return {automaton.count(state), automaton.first_end(state), automaton.last_end(state)};
}

agspec::Position copy_start(SuffixAutomaton& automaton, std::int32_t visit_cap) {
  if (automaton.match_length() == 0) return agspec::kNoPosition;
  return automaton.most_frequent_group(automaton.match_state(), visit_cap);
}

py::tuple to_python(const agspec::Draft& draft) {
  py::list ids(draft.ids.size());
  for (std::size_t i = 0; i < draft.ids.size(); ++i) ids[i] = draft.ids[i];
  return py::make_tuple(std::move(ids), draft.place.document, draft.place.offset);
}

void bind_automaton(py::module_& m) {
  py::class_<SuffixAutomaton>(m, "SuffixAutomaton", py::is_final())
      .def(py::init<>())
      .def(
          "append", [](SuffixAutomaton& self, const Tokens& ids) { self.append(span_of(ids)); },
          py::arg("ids").noconvert(), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("n_tokens", &SuffixAutomaton::n_tokens)
      .def_property_readonly("n_states", &SuffixAutomaton::n_states)
      .def_property_readonly("memory_bytes", &SuffixAutomaton::memory_bytes)
      .def("match_length", &SuffixAutomaton::match_length)
      .def("copy_start", &copy_start, py::arg("visit_cap") = agspec::kVisitCap)
      .def("occurrences", &occurrences, py::arg("ids").noconvert())
      .def("check_integrity", &SuffixAutomaton::check_integrity);
}

void bind_session(py::module_& m) {
  py::class_<SessionCorpus>(m, "SessionCorpus", py::is_final())
      .def(py::init<>())
      .def("begin_document", &SessionCorpus::begin_document, py::kw_only(), py::arg("joined"),
           py::arg("offset") = 0)
      .def(
          "append", [](SessionCorpus& self, const Tokens& ids) { self.append(span_of(ids)); },
          py::arg("ids").noconvert(), py::call_guard<py::gil_scoped_release>())
      .def("match_length", &SessionCorpus::match_length)
      .def(
          "draft",
          [](SessionCorpus& self, std::int32_t k, std::int32_t visit_cap) {
            return to_python(self.draft(k, visit_cap));
          },
          py::arg("k"), py::arg("visit_cap") = agspec::kVisitCap)
      .def_property_readonly("n_tokens", &SessionCorpus::n_tokens)
      .def_property_readonly("memory_bytes", &SessionCorpus::memory_bytes)
      .def("check_integrity", &SessionCorpus::check_integrity);
}

void bind_workspace(py::module_& m) {
  py::class_<WorkspaceCorpus>(m, "WorkspaceCorpus", py::is_final())
      .def(py::init<>())
      .def(
          "add", [](WorkspaceCorpus& self, const Tokens& ids) { return self.add(span_of(ids)); },
          py::arg("ids").noconvert(), py::call_guard<py::gil_scoped_release>())
      .def(
          "forget",
          [](WorkspaceCorpus& self, const Tokens& documents) { self.forget(span_of(documents)); },
          py::arg("documents").noconvert(), py::call_guard<py::gil_scoped_release>())
      .def(
          "draft",
          [](const WorkspaceCorpus& self, Cursor& cursor, std::int32_t k) {
            return to_python(self.draft(cursor, k));
          },
          py::arg("cursor"), py::arg("k"))
      .def_property_readonly("n_tokens", &WorkspaceCorpus::n_tokens)
      .def_property_readonly("memory_bytes", &WorkspaceCorpus::memory_bytes)
      .def("check_integrity", &WorkspaceCorpus::check_integrity);
  py::class_<Cursor>(m, "Cursor", py::is_final())
      .def(py::init([](const WorkspaceCorpus& corpus) { return corpus.cursor(); }),
           py::arg("corpus"), py::keep_alive<1, 2>())
      .def("reset", &Cursor::reset)
      .def(
          "advance", [](Cursor& self, const Tokens& ids) { self.advance(span_of(ids)); },
          py::arg("ids").noconvert())
      .def("length", &Cursor::length);
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "Compiled core of agspec-tui: verification and retrieval over token ids.";
  bind_verify(m);
  bind_automaton(m);
  bind_session(m);
  bind_workspace(m);
}
