// The Python module `agspec_tui._native`. Its documentation is `agspec_tui/_native.pyi`.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>

#include "agspec/verify.hpp"

namespace py = pybind11;

namespace {

using agspec::CancelFlag;
using agspec::Token;
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

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "Compiled core of agspec-tui: verification and retrieval over token ids.";
  bind_verify(m);
}
