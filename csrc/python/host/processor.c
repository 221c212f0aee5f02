/* Instruction sets of this processor; see processor.h. Bits: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A,
 * CPUID; AMD64 Architecture Programmer's Manual, volume 3, appendix E. */
#include "python/host/processor.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

/* The register state that the system saves between threads: XCR0, or 0 where XGETBV is not enabled. */
static unsigned saved_state(void) {
    unsigned a, b, c, d, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(high) : "c"(0));
    return a;
}

int pd_processor_has(const pd_instruction_set *wanted) {
    unsigned outputs[4];
    if (!__get_cpuid_count(wanted->leaf, wanted->subleaf, &outputs[0], &outputs[1], &outputs[2], &outputs[3])) return 0;
    if (!(outputs[wanted->output] >> wanted->bit & 1u)) return 0;
    return !wanted->state || (saved_state() & wanted->state) == wanted->state;
}
#else
int pd_processor_has(const pd_instruction_set *wanted) {
    (void)wanted;
    return 1;
}
#endif
