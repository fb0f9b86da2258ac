// Puts the products of `columns.hpp` in place of llama.cpp's own.
#pragma once

#include <cstdint>
#include <string>

namespace agspec::columns {

// Takes over products of Q4_K, Q5_K and Q6_K weights in ordinary memory, from now on and for the
// life of the process; called again, it does nothing. No graph may be computed meanwhile.
//
// `library` is a handle of dlopen whose symbols, or its dependencies', are those of ggml and of its
// CPU back end. Its list of extra buffer types must have been asked for before, since what is put
// there now is none that weights can be allocated in.
//
// Returns why not, in words; empty if it is done.
std::string install(void* library);

// Most columns of a product that is taken over; 0 for any number.
std::int64_t most_columns();

// Products that were computed so far, in all threads together.
std::uint64_t n_products();

}  // namespace agspec::columns
