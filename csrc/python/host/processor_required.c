/* The instruction sets of the CPU backends, by the macros that the compiler defines; see processor.h. CMakeLists.txt compiles this file
 * with the -march= of the backends. So it must not contain code. */
#include "python/host/processor.h"

/* Bits of XCR0: SSE and AVX registers, and those of AVX-512. */
enum { AVX = 0x6, AVX512 = 0xe6 };

const pd_instruction_set pd_required_instructions[] = {
#ifdef __SSE3__
    {"SSE3", 1, 0, 0, 0, PD_CPUID_ECX},
#endif
#ifdef __SSSE3__
    {"SSSE3", 1, 0, 9, 0, PD_CPUID_ECX},
#endif
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
    {"CMPXCHG16B", 1, 0, 13, 0, PD_CPUID_ECX},
#endif
#ifdef __SSE4_1__
    {"SSE4.1", 1, 0, 19, 0, PD_CPUID_ECX},
#endif
#ifdef __SSE4_2__
    {"SSE4.2", 1, 0, 20, 0, PD_CPUID_ECX},
#endif
#ifdef __POPCNT__
    {"POPCNT", 1, 0, 23, 0, PD_CPUID_ECX},
#endif
#ifdef __LAHF_SAHF__
    {"LAHF", 0x80000001u, 0, 0, 0, PD_CPUID_ECX},
#endif
#ifdef __SSE4A__
    {"SSE4A", 0x80000001u, 0, 6, 0, PD_CPUID_ECX},
#endif
#ifdef __AVX__
    {"AVX", 1, 0, 28, AVX, PD_CPUID_ECX},
#endif
#ifdef __AVX2__
    {"AVX2", 7, 0, 5, AVX, PD_CPUID_EBX},
#endif
#ifdef __FMA__
    {"FMA", 1, 0, 12, AVX, PD_CPUID_ECX},
#endif
#ifdef __F16C__
    {"F16C", 1, 0, 29, AVX, PD_CPUID_ECX},
#endif
#ifdef __BMI__
    {"BMI1", 7, 0, 3, 0, PD_CPUID_EBX},
#endif
#ifdef __BMI2__
    {"BMI2", 7, 0, 8, 0, PD_CPUID_EBX},
#endif
#ifdef __LZCNT__
    {"LZCNT", 0x80000001u, 0, 5, 0, PD_CPUID_ECX},
#endif
#ifdef __MOVBE__
    {"MOVBE", 1, 0, 22, 0, PD_CPUID_ECX},
#endif
#ifdef __FMA4__
    {"FMA4", 0x80000001u, 0, 16, AVX, PD_CPUID_ECX},
#endif
#ifdef __XOP__
    {"XOP", 0x80000001u, 0, 11, AVX, PD_CPUID_ECX},
#endif
#ifdef __TBM__
    {"TBM", 0x80000001u, 0, 21, 0, PD_CPUID_ECX},
#endif
#ifdef __AVX512F__
    {"AVX512F", 7, 0, 16, AVX512, PD_CPUID_EBX},
#endif
#ifdef __AVX512DQ__
    {"AVX512DQ", 7, 0, 17, AVX512, PD_CPUID_EBX},
#endif
#ifdef __AVX512IFMA__
    {"AVX512IFMA", 7, 0, 21, AVX512, PD_CPUID_EBX},
#endif
#ifdef __AVX512CD__
    {"AVX512CD", 7, 0, 28, AVX512, PD_CPUID_EBX},
#endif
#ifdef __AVX512BW__
    {"AVX512BW", 7, 0, 30, AVX512, PD_CPUID_EBX},
#endif
#ifdef __AVX512VL__
    {"AVX512VL", 7, 0, 31, AVX512, PD_CPUID_EBX},
#endif
#ifdef __AVX512VBMI__
    {"AVX512VBMI", 7, 0, 1, AVX512, PD_CPUID_ECX},
#endif
#ifdef __AVX512VBMI2__
    {"AVX512VBMI2", 7, 0, 6, AVX512, PD_CPUID_ECX},
#endif
#ifdef __GFNI__
    {"GFNI", 7, 0, 8, 0, PD_CPUID_ECX},
#endif
#ifdef __AVX512VNNI__
    {"AVX512VNNI", 7, 0, 11, AVX512, PD_CPUID_ECX},
#endif
#ifdef __AVX512BITALG__
    {"AVX512BITALG", 7, 0, 12, AVX512, PD_CPUID_ECX},
#endif
#ifdef __AVX512VPOPCNTDQ__
    {"AVX512VPOPCNTDQ", 7, 0, 14, AVX512, PD_CPUID_ECX},
#endif
#ifdef __AVX512FP16__
    {"AVX512FP16", 7, 0, 23, AVX512, PD_CPUID_EDX},
#endif
#ifdef __AVX512BF16__
    {"AVX512BF16", 7, 1, 5, AVX512, PD_CPUID_EAX},
#endif
#ifdef __AVXVNNI__
    {"AVX-VNNI", 7, 1, 4, AVX, PD_CPUID_EAX},
#endif
#ifdef __AVXIFMA__
    {"AVX-IFMA", 7, 1, 23, AVX, PD_CPUID_EAX},
#endif
    {0},
};
