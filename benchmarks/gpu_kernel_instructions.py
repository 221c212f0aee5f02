"""What does a kernel ask of memory, and how much of it at once? Loads, multiplies and instructions in listings of `nvdisasm -c`.

Nothing is run: this is what can be known of a kernel where there is no GPU. "loads together": the longest run of loads from device memory
with no arithmetic on real numbers and no shuffle between them, so what a thread can have on its way at a time; loops count once.

    nvcc ... -cubin csrc/cuda/jacobi.cu -o jacobi.cubin; nvdisasm -c jacobi.cubin > jacobi.sass
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
        for name, instructions in kernels(Path(path)).items():
            if any(word in name for word in chosen.words):
                loads = sum(instruction.startswith("LDG") for instruction in instructions)
                integer = sum(instruction.startswith("IMAD") and "MOV" not in instruction for instruction in instructions)
                rows.append((build, name, len(instructions), loads, loads_together(instructions), integer))
    header = ("build", "kernel", "instructions", "loads", "loads together", "integer multiplies")
    write_table(chosen.out, header, rows, ["from the compiler's listing for sm_90; nothing was run"])


if __name__ == "__main__":
    main()
