// What the core has to know of ggml's own types, as of the llama.cpp in llama-cpp-python 0.3.36.
//
// The core is built without ggml's headers and finds its functions when it is installed into the
// loaded library, so these repeat layouts of ggml.h, ggml-backend-impl.h, ggml-cpu.h, ggml-cpu-impl.h
// and traits.h. They are tried out in a process of its own before they are relied on
// (`agspec_tui/engine/llama_columns.py`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace agspec::ggml {

constexpr int kF32 = 0, kQ4K = 12, kQ5K = 13, kQ6K = 14, kQ8K = 15;  // ggml_type

struct Tensor {  // ggml_tensor
  int type;
  void* buffer;
  std::int64_t ne[4];  // Numbers of elements.
  std::size_t nb[4];   // Strides in bytes.
  int op;
  std::int32_t op_params[16];
  std::int32_t flags;
  Tensor* src[10];
  Tensor* view_src;
  std::size_t view_offs;
  void* data;
  char name[64];
  void* extra;
  char padding[8];
};
static_assert(sizeof(Tensor) == 336, "ggml_tensor is 336 bytes on 64-bit machines");

struct ComputeParams {  // ggml_compute_params
  int ith, nth;         // Which of how many threads.
  std::size_t wsize;
  void* wdata;  // One work buffer for all threads.
  void* threadpool;
  bool use_ref;
};

struct TypeTraits {  // ggml_type_traits_cpu
  void (*from_float)(const float* from, void* to, std::int64_t n);
  void* vec_dot;
  int vec_dot_type;
  std::int64_t nrows;
};

struct BufferType {  // ggml_backend_buffer_type
  const char* (*get_name)(BufferType*);
  void* (*alloc_buffer)(BufferType*, std::size_t size);
  std::size_t (*get_alignment)(BufferType*);
  std::size_t (*get_max_size)(BufferType*);
  std::size_t (*get_alloc_size)(BufferType*, const Tensor*);
  bool (*is_host)(BufferType*);
  void* device;
  void* context;
};

class TensorTraits {  // ggml::cpu::tensor_traits
 public:
  virtual ~TensorTraits() = default;
  virtual bool work_size(int n_threads, const Tensor* op, std::size_t& size) = 0;
  virtual bool compute_forward(ComputeParams* params, Tensor* op) = 0;
};

class ExtraBufferType {  // ggml::cpu::extra_buffer_type
 public:
  virtual ~ExtraBufferType() = default;
  virtual bool supports_op(void* device, const Tensor* op) = 0;
  virtual TensorTraits* get_tensor_traits(const Tensor* op) = 0;
};

using ExtraBufferTypes = std::vector<BufferType*>;

}  // namespace agspec::ggml
