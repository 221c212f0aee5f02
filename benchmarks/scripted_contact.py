"""Is a step that says "converged" right, in every kind of contact?

The 36 scenes of tests/scripted_scenes.py, as users script them: obstacles and pins that press, roll, grip and release, falls, stacks and
slopes. Each scene has runs with several contacts, solvers and tolerances. Each run is checked by a law that the solver does not use: the
weight, the change of momentum, the energy, a closed form, kinematics, or a run with more iterations.

"verdict" is "right" if all checks hold. Else it is "late and said" if one of the steps that a failed check depends on has another status
than "converged", a RuntimeWarning or a target lag. It is "refused" if an exception ends the run. It is "late and unsaid" if only motions
fail in steps that state nothing, and "wrong and unsaid" if forces, momenta or energies do.

"dt" is in s, empty for quasi-static runs. "failure" has the failed checks with the number found and the right one. "converged" counts the
steps that state that they converged and warn of nothing, "alarms" those that converge and warn. "pairs" is the largest number of pairs
that push. "seconds" is processor time, the check included.

    python benchmarks/scripted_contact.py [--out FILE.csv] [--page FILE.md] [--tiny]

The table and the page of the repository are written by

    python benchmarks/scripted_contact.py --out benchmarks/results/scripted_contact.csv --page docs/scripted_contact.md
"""

import argparse
import collections
import sys
from pathlib import Path

from machine import write_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from scripted_runs import VERDICTS, run_scripted
from scripted_scenes import SCENES, case_of, described, runs

HEADER = (
    *("scene", "solver", "contact", "dt", "dtype", "verdict", "failure"),
    *("steps", "converged", "alarms", "iterations", "pairs", "seconds", "statement"),
)
BEGIN, END = "<!-- table -->", "<!-- end -->"


def row(scene, k):
    case = case_of(scene, k)
    found = run_scripted(case)
    statements = "; ".join(text.splitlines()[0] for text in found.statements[:3])
    return (
        *(scene, *described(case), "" if case.dt is None else f"{case.dt:g}", case.dtype, found.verdict, "; ".join(found.failures)),
        *(found.steps, found.unsaid_steps, found.alarms, found.iterations, found.pairs, f"{found.seconds:.2f}", statements),
    )


def counts(rows, place):
    """Verdicts by the values of a column."""
    found = collections.defaultdict(collections.Counter)
    for each in rows:
        found[each[place]][each[HEADER.index("verdict")]] += 1
    return found


def markdown(rows):
    """The counts of the verdicts by scene and by contact, and the runs that are unsaid."""
    lines = []
    contacts = [(*each[:2], (each[2] or "none").split()[0], *each[3:]) for each in rows]
    for name, found in (("scene", counts(rows, 0)), ("contact", counts(contacts, 2))):
        lines += [f"| {name} | " + " | ".join(VERDICTS) + " |", "|---|" + "---|" * len(VERDICTS)]
        lines += [f"| {value} | " + " | ".join(str(count[verdict] or "") for verdict in VERDICTS) + " |" for value, count in found.items()]
        total = collections.Counter(each[HEADER.index("verdict")] for each in rows)
        lines += ["| all | " + " | ".join(str(total[verdict]) for verdict in VERDICTS) + " |", ""]
    unsaid = [each for each in rows if each[HEADER.index("verdict")] in VERDICTS[3:]]
    named = '"late and unsaid" or "wrong and unsaid"'
    none = f'No run has the verdict {named}. The rows "all" have the sums.'
    lines += [f"Runs with the verdict {named}:" if unsaid else none, ""]
    if unsaid:
        lines += ["| scene | solver | contact | failure |", "|---|---|---|---|"]
        lines += [f"| {each[0]} | {each[1]} | {each[2] or 'none'} | {each[HEADER.index('failure')]} |" for each in unsaid] + [""]
    return "\n".join(lines)


def write_page(path, text):
    """Puts the tables between the marks of a page."""
    page = Path(path).read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    Path(path).write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", help="a CSV file with the table")
    parser.add_argument("--page", help="a Markdown page whose tables are replaced")
    parser.add_argument("--tiny", action="store_true", help="two runs: only that everything runs")
    chosen = parser.parse_args()
    cases = [("block resting", 0), ("slide along a plane", 0)] if chosen.tiny else runs()
    rows = []

    def measured():
        for case in cases:
            rows.append(row(*case))
            yield rows[-1]

    notes = ["tiny: two runs"] * chosen.tiny or [f"{len(SCENES)} scenes, {len(cases)} runs, one thread"]
    write_table(chosen.out, HEADER, measured(), notes)
    text = markdown(rows)
    print(text)
    if chosen.page:
        write_page(chosen.page, text)


if __name__ == "__main__":
    main()
