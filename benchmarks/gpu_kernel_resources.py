"""What does the compiler say of a kernel: registers, bytes of stack and spilled, and the threads a multiprocessor then holds?

Reads reports of `nvcc -Xptxas -v`, as a build with nvcc leaves them beside its object files (*.resources). Nothing is run: this is what
can be known of a kernel where there is no GPU. A row for each kernel whose name holds one of the words.

    python benchmarks/gpu_kernel_resources.py NAME=REPORT ... [--words WORD ...] [--out FILE.csv]
"""

import argparse
import re
from pathlib import Path

from machine import write_table

REGISTERS, THREADS, WARP, UNIT = 65536, 2048, 32, 256  # of a multiprocessor of compute capability 8.0 or 9.0; registers come by the unit
BLOCK = 256  # PD_THREADS


def resident(registers):
    """Threads of blocks of 256 that find room on a multiprocessor, as far as registers decide it."""
    of_warp = -(-registers * WARP // UNIT) * UNIT
    return min(THREADS, REGISTERS // (of_warp * BLOCK // WARP) * BLOCK)


def plain_name(mangled):
    for match in re.finditer(r"\d+", mangled):
        name = mangled[match.end() : match.end() + int(match[0])]
        if name.endswith("_kernel"):
            of = re.match(r"I((?:L[ib]\d+E)+)", mangled[match.end() + int(match[0]) :])
            return f"{name}<{' '.join(re.findall('[0-9]+', of[1]))}>" if of else name
    return mangled


def kernels(path):
    """(architecture, name, registers, stack, spilled) of each kernel of a report."""
    name = None
    for line in path.read_text().splitlines():
        if match := re.search(r"Compiling entry function '(\w+)' for '(\w+)'", line):
            name, architecture, memory = plain_name(match[1]), match[2], None
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            memory = memory if name and memory else (int(match[1]), int(match[2]) + int(match[3]))
        elif name and (match := re.search(r"Used (\d+) registers", line)):
            yield architecture, name, int(match[1]), *memory
            name = None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", metavar="NAME=REPORT")
    parser.add_argument("--words", nargs="*", default=[""])
    parser.add_argument("--out")
    chosen = parser.parse_args()
    rows = []
    for pair in chosen.reports:
        build, path = pair.split("=", 1)
        for architecture, name, registers, stack, spilled in kernels(Path(path)):
            if any(word in name for word in chosen.words):
                rows.append((build, architecture, name, registers, stack, spilled, resident(registers)))
    header = ("build", "architecture", "kernel", "registers", "stack bytes", "spilled bytes", "threads/multiprocessor")
    write_table(chosen.out, header, rows, ["from the compiler's report; nothing was run"])


if __name__ == "__main__":
    main()
