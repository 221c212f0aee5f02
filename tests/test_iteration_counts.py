"""Ten short runs take as many iterations as they did: a change that makes a method converge slower shows here, on any machine.

iteration_counts.csv has the iterations of every step. The counts must not depend on rounding, so `write` refuses a case whose counts
change with its tolerance by MARGIN. A change that is meant to change counts writes the file and says why:

    python tests/test_iteration_counts.py
"""

import csv
import sys
from pathlib import Path

import iteration_cases
import pytest

FILE = Path(__file__).parent / "iteration_counts.csv"
COLUMNS = ("case", "iterations")
MARGIN = 1e-3  # relative, of the tolerance
COMMAND = "PYTHONPATH=tests .venv/bin/python tests/test_iteration_counts.py"


def stored():
    with open(FILE, newline="") as file:
        return {row["case"]: [int(count) for count in row["iterations"].split()] for row in csv.DictReader(file)}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", iteration_cases.cases())
def test_a_run_takes_as_many_iterations_as_it_did(name):
    """If not, a solver converges slower, or faster, than before, and no other test says so."""
    _, iterations = iteration_cases.run(iteration_cases.cases()[name])
    expected = stored()[name]
    assert iterations == expected, (
        f"{name}: the steps took {iterations} iterations, stored are {expected}. If the change is meant to do this, say why in the commit "
        f"and write the file with `{COMMAND}`"
    )


def test_the_file_has_the_cases():
    """If not, a case that is gone is still believed to be compared."""
    assert list(stored()) == list(iteration_cases.cases())


def write():
    """The file of all cases; refuses counts that a change of rounding could change."""
    rows = []
    for name, make in iteration_cases.cases().items():
        _, iterations = iteration_cases.run(make)
        for scale in (1.0 - MARGIN, 1.0 + MARGIN):
            _, others = iteration_cases.run(iteration_cases.cases(scale)[name])
            if others != iterations:
                sys.exit(f"{name}: {iterations} iterations, but {others} with {scale:g} times the tolerance; take another tolerance")
        rows.append((name, " ".join(map(str, iterations))))
    with open(FILE, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    write()
