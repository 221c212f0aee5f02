/* The instruction sets that the CPU backends were compiled for, and those of them that this processor lacks.
 *
 * The compiler determines the first list: processor_required.c is compiled with the backends' -march= and has one entry per instruction
 * set whose macro is defined. It contains only data, so that the module _host runs on any processor. */
#ifndef PD_PYTHON_HOST_PROCESSOR_H
#define PD_PYTHON_HOST_PROCESSOR_H

enum { PD_CPUID_EAX, PD_CPUID_EBX, PD_CPUID_ECX, PD_CPUID_EDX };

/* One instruction set: the bit of CPUID that announces it, and the register state that the system must save for it (bits of XCR0). */
typedef struct {
    const char *name;
    unsigned leaf, subleaf, bit, state;
    int output; /* PD_CPUID_EAX .. */
} pd_instruction_set;

extern const pd_instruction_set pd_required_instructions[]; /* ends with a NULL name */

/* Tells whether this processor and its system support an instruction set. 1 on processors other than x86-64. */
int pd_processor_has(const pd_instruction_set *wanted);

#endif
