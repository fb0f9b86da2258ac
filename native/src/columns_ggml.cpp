#include "agspec/columns_ggml.hpp"

#include "agspec/columns.hpp"
#include "agspec/ggml_abi.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && defined(__unix__)

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>

namespace agspec::columns {
namespace {

using ggml::ComputeParams;
using ggml::Tensor;

constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kRows = 16;  // Rows that one thread takes at a time: they stay in its cache.
constexpr std::int64_t kRowsAlone = 64;  // The same for a single column, which uses a row once.
// With AVX-512 VNNI llama.cpp's kernels for many columns are faster. No draft needs more than this.
constexpr std::int64_t kMostWithVnni = 65;

// Functions of the loaded library.
struct Library {
  ggml::ExtraBufferTypes& (*extra_buffer_types)() = nullptr;
  const ggml::TypeTraits* (*type_traits)(int type) = nullptr;
  const char* (*op_name)(int op) = nullptr;
  bool (*buffer_is_host)(void* buffer) = nullptr;
  void (*barrier)(void* threadpool) = nullptr;
  int mul_mat = -1;
  void (*to_q8k)(const float* from, void* to, std::int64_t n) = nullptr;
};

Library library_;
std::int64_t most_columns_ = 0;
std::atomic<std::uint64_t> n_products_{0};

// How the columns of a product are divided into groups of nearly equal size.
struct Groups {
  std::int64_t n_columns, n_groups;
  explicit Groups(std::int64_t n)
      : n_columns(n), n_groups((n + std::int64_t{kMostColumns} - 1) / std::int64_t{kMostColumns}) {}
  std::int64_t first(std::int64_t group) const { return n_columns * group / n_groups; }
  std::size_t size(std::int64_t group) const {
    return static_cast<std::size_t>(first(group + 1) - first(group));
  }
};

std::byte* aligned(void* from) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  return reinterpret_cast<std::byte*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

bool weights_of(int type, Weights& weights) {
  switch (type) {
    case ggml::kQ4K: weights = Weights::kQ4K; return true;
    case ggml::kQ5K: weights = Weights::kQ5K; return true;
    case ggml::kQ6K: weights = Weights::kQ6K; return true;
    default: return false;
  }
}

// One product of a plain matrix of weights and columns of floats, and nothing beside it.
bool is_ours(const Tensor* op) {
  if (op->op != library_.mul_mat) return false;
  const Tensor *weights = op->src[0], *columns = op->src[1];
  Weights kind;
  return weights_of(weights->type, kind) && columns->type == ggml::kF32 &&
         columns->nb[0] == sizeof(float) && op->nb[0] == sizeof(float) && op->op_params[1] == 0 &&
         weights->ne[2] == 1 && weights->ne[3] == 1 && columns->ne[2] == 1 && columns->ne[3] == 1 &&
         weights->ne[0] % std::int64_t{kBlock} == 0 && weights->nb[0] == block_bytes(kind) &&
         (most_columns_ == 0 || columns->ne[1] <= most_columns_) && weights->extra == nullptr &&
         weights->buffer != nullptr && library_.buffer_is_host(weights->buffer);
}

// The work buffer: a counter of chunks, then the groups.
struct Work {
  std::atomic<std::int64_t>* next;
  std::byte* groups;
  explicit Work(void* buffer)
      : next(reinterpret_cast<std::atomic<std::int64_t>*>(aligned(buffer))),
        groups(aligned(buffer) + kAlignment) {}
  static std::size_t size(const Tensor* op) {
    const auto n = static_cast<std::size_t>(op->src[1]->ne[1] * op->src[1]->ne[0]) / kBlock;
    return 2 * kAlignment + n * kColumnBytes;
  }
};

// Quantises this thread's share of the activations into their groups.
void quantise(const ComputeParams& params, const Tensor& columns, const Groups& groups,
              std::byte* out) {
  const std::int64_t n_blocks = columns.ne[0] / std::int64_t{kBlock};
  for (std::int64_t g = 0; g < groups.n_groups; ++g) {
    const std::int64_t first = groups.first(g);
    const std::size_t size = groups.size(g);
    std::byte* const group =
        out + static_cast<std::size_t>(first * n_blocks) * kColumnBytes;
    const std::int64_t n = n_blocks * static_cast<std::int64_t>(size);
    for (std::int64_t at = n * params.ith / params.nth; at < n * (params.ith + 1) / params.nth;
         ++at) {
      const std::int64_t block = at / static_cast<std::int64_t>(size);
      const std::size_t column = static_cast<std::size_t>(at) % size;
      const auto* from = static_cast<const std::byte*>(columns.data) +
                         static_cast<std::size_t>(first + static_cast<std::int64_t>(column)) *
                             columns.nb[1];
      BlockQ8K quantised;
      library_.to_q8k(reinterpret_cast<const float*>(from) + block * std::int64_t{kBlock},
                      &quantised, std::int64_t{kBlock});
      place(quantised, group + static_cast<std::size_t>(block) * size * kColumnBytes, size, column);
    }
  }
}

class Product final : public ggml::TensorTraits {
 public:
  bool work_size(int, const Tensor* op, std::size_t& size) override {
    size = Work::size(op);
    return true;
  }

  bool compute_forward(ComputeParams* params, Tensor* op) override {
    const Tensor &weights = *op->src[0], &columns = *op->src[1];
    Weights kind;
    if (!weights_of(weights.type, kind)) return false;
    const Groups groups(columns.ne[1]);
    const Work work(params->wdata);
    quantise(*params, columns, groups, work.groups);
    if (params->ith == 0) {
      // Every thread begins with the chunk of its own number.
      work.next->store(params->nth, std::memory_order_relaxed);
      n_products_.fetch_add(1, std::memory_order_relaxed);
    }
    library_.barrier(params->threadpool);

    const std::int64_t n_blocks = weights.ne[0] / std::int64_t{kBlock}, n_rows = weights.ne[1];
    const std::int64_t chunk = groups.n_columns == 1 ? kRowsAlone : kRows;
    const std::size_t stride = op->nb[1] / sizeof(float);
    for (std::int64_t at = params->ith; at * chunk < n_rows;
         at = work.next->fetch_add(1, std::memory_order_relaxed)) {
      const std::int64_t end = std::min(n_rows, (at + 1) * chunk);
      for (std::int64_t g = 0; g < groups.n_groups; ++g) {
        const auto first = static_cast<std::size_t>(groups.first(g));
        const Kernel multiply = kernel(kind, groups.size(g));
        const std::byte* const group =
            work.groups + first * static_cast<std::size_t>(n_blocks) * kColumnBytes;
        float* const out = static_cast<float*>(op->data) + first * stride;
        for (std::int64_t row = at * chunk; row < end; ++row) {
          multiply(static_cast<std::size_t>(n_blocks),
                   static_cast<const std::byte*>(weights.data) +
                       static_cast<std::size_t>(row) * weights.nb[1],
                   group, out + row, stride);
        }
      }
    }
    return true;
  }
};

// Stands in the list of buffer types, where ggml asks for whoever computes an operation. No weights
// lie in it.
class Columns final : public ggml::ExtraBufferType {
 public:
  bool supports_op(void*, const Tensor*) override { return false; }
  ggml::TensorTraits* get_tensor_traits(const Tensor* op) override {
    return is_ours(op) ? &product_ : nullptr;
  }

 private:
  Product product_;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  void* const address = dlsym(library, name);
  std::memcpy(&function, &address, sizeof(function));
  return address != nullptr;
}

bool find_all(void* library, Library& out) {
  return find(library, "_Z39ggml_backend_cpu_get_extra_buffer_typesv", out.extra_buffer_types) &&
         find(library, "ggml_get_type_traits_cpu", out.type_traits) &&
         find(library, "ggml_op_name", out.op_name) &&
         find(library, "ggml_backend_buffer_is_host", out.buffer_is_host) &&
         find(library, "ggml_barrier", out.barrier);
}

int number_of_op(const Library& library, const char* name) {
  constexpr int kMostOps = 64;  // MUL_MAT is one of the first.
  for (int op = 0; op < kMostOps; ++op) {
    if (std::strcmp(library.op_name(op), name) == 0) return op;
  }
  return -1;
}

}  // namespace

std::string install(void* library) {
  // Never freed: ggml may ask for it while the process ends.
  static ggml::BufferType* installed = nullptr;
  if (installed != nullptr) return "";
  if (!supported()) return "this processor has no AVX2";
  Library found;
  if (!find_all(library, found)) return "this llama.cpp does not have the functions for it";
  found.mul_mat = number_of_op(found, "MUL_MAT");
  if (found.mul_mat < 0) return "this llama.cpp knows no product of matrices";
  found.to_q8k = found.type_traits(ggml::kQ8K)->from_float;
  if (found.to_q8k == nullptr) return "this llama.cpp does not quantise activations";
  library_ = found;
  most_columns_ = __builtin_cpu_supports("avx512vnni") ? kMostWithVnni : 0;
  installed = new ggml::BufferType{};
  installed->get_name = [](ggml::BufferType*) { return "agspec columns"; };
  installed->context = static_cast<ggml::ExtraBufferType*>(new Columns);
  found.extra_buffer_types().push_back(installed);
  return "";
}

std::int64_t most_columns() { return most_columns_; }
std::uint64_t n_products() { return n_products_.load(std::memory_order_relaxed); }

}  // namespace agspec::columns

#else

namespace agspec::columns {

std::string install(void*) { return "this processor or system has no kernels for it"; }
std::int64_t most_columns() { return 0; }
std::uint64_t n_products() { return 0; }

}  // namespace agspec::columns

#endif
