/* PD_CLONES: a function of the host code that is also compiled for AVX2.
 *
 * The host code is compiled for any x86-64. The loader selects a clone by the features of the processor. "arch=haswell" would select by
 * the name of the processor and reject all others. Sanitizers cannot run a resolver before they are set up, so they get the plain
 * version. */
#ifndef PD_SPARSE_PROCESSOR_CLONES_H
#define PD_SPARSE_PROCESSOR_CLONES_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#if __GNUC__ >= 12
#define PD_CLONES __attribute__((target_clones("arch=x86-64-v3", "default"), noinline))
#else
#define PD_CLONES __attribute__((target_clones("avx2", "default"), noinline))
#endif
#else
#define PD_CLONES
#endif

#endif
