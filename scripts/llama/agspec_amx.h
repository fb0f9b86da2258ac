// Forced into every C++ file of llama.cpp, so that its AMX kernels are compiled as they are written.
//
// GCC's intrinsics (12.2's amxtileintrin.h, and later ones) tell the optimiser less than they read:
// `_tile_loadconfig` names the first 8 of the configuration's 64 bytes, and `_tile_loadd` names no
// memory at all. At -O3 the other stores to a configuration on the stack are then dropped as dead,
// and `ldtilecfg` faults on what happens to lie there. These say what the instructions touch.

#pragma once

#if defined(__AMX_TILE__) && defined(__GNUC__) && !defined(__clang__)

#include <immintrin.h>

static inline __attribute__((always_inline)) void agspec_tile_loadconfig(const void *config) {
    __asm__ volatile("ldtilecfg\t%0" : : "m"(*(const char(*)[64])config) : "memory");
}

#define _tile_loadconfig agspec_tile_loadconfig

// In two steps, as the register may be given by a macro.
#define AGSPEC_TILE_LOAD(instruction, dst, base, stride)              \
    __asm__ volatile(instruction "\t(%0,%1,1), %%tmm" #dst            \
                     :                                                \
                     : "r"((const void *)(base)), "r"((long)(stride)) \
                     : "memory")

#undef _tile_loadd
#define _tile_loadd(dst, base, stride) AGSPEC_TILE_LOAD("tileloadd", dst, base, stride)

#undef _tile_stream_loadd
#define _tile_stream_loadd(dst, base, stride) AGSPEC_TILE_LOAD("tileloaddt1", dst, base, stride)

#endif
