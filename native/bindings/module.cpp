// The Python module `agspec_tui._native`. Its documentation is `agspec_tui/_native.pyi`.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "agspec/candidates.hpp"
#include "agspec/columns_ggml.hpp"
#include "agspec/corpus.hpp"
#include "agspec/cursor.hpp"
#include "agspec/suffix_array.hpp"
#include "agspec/suffix_automaton.hpp"
#include "agspec/suffix_tree.hpp"
#include "agspec/suffix_sort.hpp"
#include "agspec/verify.hpp"
#include "agspec/workspace_corpus.hpp"

namespace py = pybind11;

namespace {

using agspec::ArrayCursor;
using agspec::CancelFlag;
using agspec::Candidate;
using agspec::Cursor;
using agspec::SessionCorpus;
using agspec::SuffixArray;
using agspec::SuffixAutomaton;
using agspec::SuffixTree;
using agspec::Token;
using agspec::WorkspaceCorpus;
using Tokens = py::array_t<Token, py::array::c_style>;
using Bytes = py::array_t<std::uint8_t, py::array::c_style>;
using Floats = py::array_t<float, py::array::c_style>;
using Candidates = py::array_t<Candidate, py::array::c_style>;

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

std::size_t top_candidates(const Floats& row, std::size_t n, const Tokens& always,
                           Candidates& out) {
  if (row.ndim() != 1 || out.ndim() != 1 || out.size() < row.size()) {
    throw std::invalid_argument("row must be a 1-d float32 array and out at least as long");
  }
  const auto ids = span_of(always);
  if (std::any_of(ids.begin(), ids.end(), [&](Token id) { return id < 0 || id >= row.size(); })) {
    throw std::invalid_argument("always must hold ids of the row");
  }
  const std::span<const float> values{row.data(), static_cast<std::size_t>(row.size())};
  const std::span<Candidate> room{out.mutable_data(), static_cast<std::size_t>(out.size())};
  const py::gil_scoped_release release;
  return agspec::top_candidates(values, n, ids, room);
}

void bind_verify(py::module_& m) {
  PYBIND11_NUMPY_DTYPE(Candidate, id, logit, p);
  m.def("top_candidates", &top_candidates, py::arg("row").noconvert(), py::arg("n"),
        py::arg("always").noconvert(), py::arg("out").noconvert());
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

// Climbs suffix links from the match, but not to the root, while its first occurrence is followed by
// fewer tokens than wanted.
agspec::Position first_copy_start(const SuffixAutomaton& automaton, std::int32_t n_wanted) {
  agspec::StateId state = automaton.match_state();
  if (state == agspec::kRoot) return agspec::kNoPosition;
  while (automaton.link(state) != agspec::kRoot &&
         automaton.n_tokens() - 1 - automaton.first_end(state) < n_wanted) {
    state = automaton.link(state);
  }
  return automaton.first_end(state) + 1;
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
      .def("first_copy_start", &first_copy_start, py::arg("n_wanted"))
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
      .def("match",
           [](SessionCorpus& self) {
             const agspec::Match match = self.match();
             return std::tuple{match.length, match.n_seen, match.n_group};
           })
      .def(
          "draft",
          [](SessionCorpus& self, std::int32_t k, std::int32_t visit_cap) {
            return to_python(self.draft(k, visit_cap));
          },
          py::arg("k"), py::arg("visit_cap") = agspec::kVisitCap)
      .def(
          "read",
          [](const SessionCorpus& self, std::int32_t document, agspec::Position offset,
             std::int32_t k) { return to_python(self.read({document, offset}, k)); },
          py::arg("document"), py::arg("offset"), py::arg("k"))
      .def_property_readonly("n_tokens", &SessionCorpus::n_tokens)
      .def_property_readonly("memory_bytes", &SessionCorpus::memory_bytes)
      .def("check_integrity", &SessionCorpus::check_integrity);
}

// A cursor and the corpus whose lock it is used under.
struct WorkspaceCursor {
  const WorkspaceCorpus& corpus;
  Cursor cursor;
};

std::span<const Token> without_separators(const Tokens& ids) {
  const auto tokens = span_of(ids);
  if (std::any_of(tokens.begin(), tokens.end(), agspec::is_separator)) {
    throw std::invalid_argument("token ids must not be negative");
  }
  return tokens;
}

void bind_workspace(py::module_& m) {
  using Released = py::call_guard<py::gil_scoped_release>;
  py::class_<WorkspaceCorpus>(m, "WorkspaceCorpus", py::is_final())
      .def(py::init<>())
      .def(
          "add", [](WorkspaceCorpus& self, const Tokens& ids) { return self.add(span_of(ids)); },
          py::arg("ids").noconvert(), Released())
      .def(
          "forget",
          [](WorkspaceCorpus& self, const Tokens& documents) { self.forget(span_of(documents)); },
          py::arg("documents").noconvert(), Released())
      .def("rebuild_due", &WorkspaceCorpus::rebuild_due)
      .def("rebuild", &WorkspaceCorpus::rebuild, Released())
      .def(
          "draft",
          [](const WorkspaceCorpus& self, WorkspaceCursor& cursor, std::int32_t k) {
            if (&self != &cursor.corpus) throw std::invalid_argument("a cursor of another corpus");
            return to_python(self.draft(cursor.cursor, k));
          },
          py::arg("cursor"), py::arg("k"))
      .def(
          "read_document",
          [](const WorkspaceCorpus& self, std::int32_t document, agspec::Position offset,
             std::int32_t k) { return to_python(self.read_document({document, offset}, k)); },
          py::arg("document"), py::arg("offset"), py::arg("k"))
      .def_property_readonly("n_added", &WorkspaceCorpus::n_added)
      .def_property_readonly("n_tokens", &WorkspaceCorpus::n_tokens)
      .def_property_readonly("n_dead_tokens", &WorkspaceCorpus::n_dead_tokens)
      .def_property_readonly("version", &WorkspaceCorpus::version)
      .def_property_readonly("memory_bytes", &WorkspaceCorpus::memory_bytes)
      .def("check_integrity", &WorkspaceCorpus::check_integrity, Released());
  py::class_<WorkspaceCursor>(m, "Cursor", py::is_final())
      .def(py::init([](const WorkspaceCorpus& corpus) {
             return WorkspaceCursor{corpus, corpus.cursor()};
           }),
           py::arg("corpus"), py::keep_alive<1, 2>())
      .def(
          "read",
          [](WorkspaceCursor& self, const Tokens& ids) {
            return self.corpus.read(self.cursor, without_separators(ids));
          },
          py::arg("ids").noconvert())
      .def(
          "advance",
          [](WorkspaceCursor& self, const Tokens& ids) {
            return self.corpus.advance(self.cursor, without_separators(ids));
          },
          py::arg("ids").noconvert())
      .def("length", [](WorkspaceCursor& self) { return self.corpus.match_length(self.cursor); });
}

std::pair<Tokens, Bytes> sort_suffixes(const Tokens& ids) {
  const auto text = span_of(ids);
  Tokens order(ids.size());
  Bytes shared(ids.size());
  const std::span<agspec::Position> places{order.mutable_data(), text.size()};
  const std::span<std::uint8_t> prefixes{shared.mutable_data(), text.size()};
  {
    const py::gil_scoped_release release;
    agspec::sort_suffixes(text, places, prefixes);
  }
  return {std::move(order), std::move(shared)};
}

std::unique_ptr<SuffixArray> make_array(const Tokens& ids, const Tokens& order,
                                        const Bytes& shared, std::int32_t n_vocab) {
  if (shared.ndim() != 1) throw std::invalid_argument("shared must be a 1-d uint8 array");
  const std::span<const std::uint8_t> prefixes{shared.data(),
                                               static_cast<std::size_t>(shared.size())};
  const auto text = span_of(ids), places = span_of(order);
  const py::gil_scoped_release release;
  return std::make_unique<SuffixArray>(text, places, prefixes, n_vocab);
}

py::tuple draft_from_array(ArrayCursor& cursor, std::int32_t k, std::int32_t visit_cap) {
  const SuffixArray& array = cursor.array();
  const auto range = cursor.match();
  const auto start =
      k > 0 ? array.most_frequent_group(range, visit_cap) : agspec::kNoPosition;
  return py::make_tuple(py::cast(array.copy(start, k)), start);
}

void bind_array(py::module_& m) {
  m.def("sort_suffixes", &sort_suffixes, py::arg("ids").noconvert());
  py::class_<SuffixArray>(m, "SuffixArray", py::is_final())
      .def(py::init(&make_array), py::arg("ids").noconvert(), py::arg("order").noconvert(),
           py::arg("shared").noconvert(), py::arg("n_vocab"), py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>(), py::keep_alive<1, 4>())
      .def_property_readonly("n_tokens", &SuffixArray::n_tokens)
      .def_property_readonly("memory_bytes", &SuffixArray::memory_bytes)
      .def(
          "find",
          [](const SuffixArray& self, const Tokens& ids) {
            const auto range = self.find(span_of(ids));
            return std::pair{range.begin, range.end};
          },
          py::arg("ids").noconvert())
      .def("check_integrity", &SuffixArray::check_integrity,
           py::call_guard<py::gil_scoped_release>());
  py::class_<ArrayCursor>(m, "ArrayCursor", py::is_final())
      .def(py::init<const SuffixArray&>(), py::arg("array"), py::keep_alive<1, 2>())
      .def("reset", &ArrayCursor::reset)
      .def(
          "advance", [](ArrayCursor& self, const Tokens& ids) { self.advance(span_of(ids)); },
          py::arg("ids").noconvert())
      .def("length", [](ArrayCursor& self) { return self.match().length; })
      .def("draft", &draft_from_array, py::arg("k"),
           py::arg("visit_cap") = agspec::kArrayVisitCap);
}

py::tuple to_python(const agspec::TreeDraft& draft) {
  py::list ids(draft.ids.size());
  for (std::size_t i = 0; i < draft.ids.size(); ++i) ids[i] = draft.ids[i];
  return py::make_tuple(std::move(ids), draft.score, draft.match_length, draft.place.document,
                        draft.place.offset);
}

void bind_tree(py::module_& m) {
  const agspec::DraftRule usual;
  py::class_<SuffixTree>(m, "SuffixTree", py::is_final())
      .def(py::init<std::int32_t>(), py::arg("depth"))
      .def(
          "append",
          [](SuffixTree& self, std::int32_t sequence, const Tokens& ids) {
            self.append(sequence, span_of(ids));
          },
          py::arg("sequence"), py::arg("ids").noconvert(),
          py::call_guard<py::gil_scoped_release>())
      .def("remove", &SuffixTree::remove, py::arg("sequence"),
           py::call_guard<py::gil_scoped_release>())
      .def("compact", &SuffixTree::compact, py::call_guard<py::gil_scoped_release>())
      .def(
          "draft",
          [](SuffixTree& self, const Tokens& context, std::int32_t k, float factor, float offset,
             float min_prob) {
            return to_python(self.draft(span_of(context), {k, factor, offset, min_prob}));
          },
          py::arg("context").noconvert(), py::arg("k"), py::arg("factor") = usual.factor,
          py::arg("offset") = usual.offset, py::arg("min_prob") = usual.min_prob)
      .def(
          "draft_sequence",
          [](SuffixTree& self, std::int32_t sequence, std::int32_t k, float factor, float offset,
             float min_prob) {
            return to_python(self.draft_sequence(sequence, {k, factor, offset, min_prob}));
          },
          py::arg("sequence"), py::arg("k"), py::arg("factor") = usual.factor,
          py::arg("offset") = usual.offset, py::arg("min_prob") = usual.min_prob)
      .def(
          "count", [](const SuffixTree& self, const Tokens& ids) { return self.count(span_of(ids)); },
          py::arg("ids").noconvert())
      .def_property_readonly("depth", &SuffixTree::depth)
      .def_property_readonly("n_tokens", &SuffixTree::n_tokens)
      .def_property_readonly("n_sequences", &SuffixTree::n_sequences)
      .def_property_readonly("n_states", &SuffixTree::n_states)
      .def_property_readonly("memory_bytes", &SuffixTree::memory_bytes)
      .def("check_integrity", &SuffixTree::check_integrity);
}

void bind_columns(py::module_& m) {
  m.def(
      "install_columns",
      [](std::uintptr_t library) {
        return agspec::columns::install(reinterpret_cast<void*>(library));
      },
      py::arg("library"));
  m.def("most_columns", &agspec::columns::most_columns);
  m.def("n_column_products", &agspec::columns::n_products);
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "Compiled core of agspec-tui: verification and retrieval over token ids.";
  bind_verify(m);
  bind_columns(m);
  bind_automaton(m);
  bind_session(m);
  bind_workspace(m);
  bind_array(m);
  bind_tree(m);
}
