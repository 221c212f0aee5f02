"""What does a kernel ask of memory, and how much of it at once? Loads, multiplies and instructions in listings of `nvdisasm`.

Nothing is run: this is what can be known of a kernel where there is no GPU. "loads together": the longest run of loads from device memory
with no arithmetic on real numbers and no shuffle between them, so what a thread can have on its way at a time; loops count once. "of 16
bytes": those that take so many at once. "before the wait": those of a launch that overlaps the one before it that do not wait for its end.
"argument bytes": what a launch hands over.

    nvcc ... -cubin csrc/cuda/linear/jacobi.cu -o jacobi.cubin; nvdisasm jacobi.cubin > jacobi.sass
    python benchmarks/gpu_kernel_instructions.py NAME=LISTING ... [--words WORD ...] [--out FILE.csv]
"""

import argparse
import re
from pathlib import Path

from gpu_kernel_resources import plain_name
from machine import write_table

SECTION = re.compile(r"\s*\.section\s+\.text\.([^,\s]+),")
INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)")
ARITHMETIC = re.compile(r"[FD](FMA|ADD|MUL)|SHFL")
DESCRIPTION = re.compile(r"\s*\.section\s+\.nv\.info\.([^,\s]+),")
HALF = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+\.short\s+0x([0-9a-f]+)")
WAIT = "ACQBULK"


def kernels(path):
    """{name: names of its instructions} of a listing."""
    found, name = {}, None
    for line in path.read_text().splitlines():
        if match := SECTION.match(line):
            name = plain_name(match[1])
            found[name] = []
        elif name and (match := INSTRUCTION.match(line)):
            found[name].append(match[1])
    return found


def argument_bytes(path):
    """{name: bytes of the arguments of a kernel} of a listing; empty where it has the instructions alone."""
    found, name, here = {}, None, False
    for line in path.read_text().splitlines():
        if match := DESCRIPTION.match(line):
            name = plain_name(match[1])
        elif "EIATTR_" in line:
            here = line.endswith("EIATTR_CBANK_PARAM_SIZE")
        elif here and name and (match := HALF.match(line)):
            found[name], here = int(match[1], 16), False
    return found


def loads_together(instructions):
    longest = run = 0
    for instruction in instructions:
        run = 0 if ARITHMETIC.match(instruction) else run + instruction.startswith("LDG")
        longest = max(longest, run)
    return longest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("listings", nargs="+", metavar="NAME=LISTING")
    parser.add_argument("--words", nargs="*", default=[""])
    parser.add_argument("--out")
    chosen = parser.parse_args()
    rows = []
    for pair in chosen.listings:
        build, path = pair.split("=", 1)
        arguments = argument_bytes(Path(path))
        for name, instructions in kernels(Path(path)).items():
            if any(word in name for word in chosen.words):
                loads = [instruction for instruction in instructions if instruction.startswith("LDG")]
                stores = sum(instruction.startswith("STG") for instruction in instructions)
                wide = sum(instruction.endswith("128") for instruction in loads)
                first = instructions[: instructions.index(WAIT)] if WAIT in instructions else []
                before = sum(instruction.startswith("LDG") for instruction in first)
                integer = sum(instruction.startswith("IMAD") and "MOV" not in instruction for instruction in instructions)
                counts = (len(loads), wide, before, loads_together(instructions), stores, integer)
                rows.append((build, name, len(instructions), *counts, arguments.get(name, "")))
    header = ("build", "kernel", "instructions", "loads", "of 16 bytes", "before the wait", "loads together", "stores")
    header = (*header, "integer multiplies", "argument bytes")
    write_table(chosen.out, header, rows, ["from the compiler's listing for sm_90; nothing was run"])


if __name__ == "__main__":
    main()
