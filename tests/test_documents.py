"""README, docs, examples and notebooks run as printed."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scripts_apart

import pdgpu

ROOT = Path(__file__).parent.parent
# what an example needs beside what the tests install; skipped where it is not there
NEEDS = {"sweep_on_dask": "distributed"}
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))


PROSE = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def prose():
    """The README and the pages of docs, in one line."""
    return " ".join(" ".join(path.read_text() for path in PROSE).split())


def printed_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


PROGRAMS = {path.relative_to(ROOT).as_posix(): path for path in PROSE if printed_blocks(path)}


@pytest.mark.parametrize("page", PROGRAMS)
def test_printed_programs_run_when_pasted(page, tmp_path):
    """If not, the first thing a newcomer tries fails. The programs of a page run as one script, with no warning of their own."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONWARNINGS": "error::UserWarning"}
    program = "\n".join(printed_blocks(PROGRAMS[page]))
    result = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    if page == "README.md":
        assert (tmp_path / "comparison.png").stat().st_size > 5000


def test_every_task_of_the_guide_has_a_program():
    """If not, a page of the guide tells and does not show."""
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "guide").glob("*.md") if path.name != "index.md"}
    assert len(pages) >= 11 and pages <= PROGRAMS.keys()


def test_the_cloth_of_getting_started_hangs():
    """If not, the first motion a newcomer sees is a sheet that stands upright on its lower corners."""
    block = next(block for block in printed_blocks(ROOT / "docs" / "getting_started.md") if "sim.step(record=True)" in block)
    names = {}
    exec(block, names)
    held, x = names["scene"].fixed().astype(bool), names["sim"].positions
    assert held.any() and x[~held, 1].max() < x[held, 1].min() + 0.02
    assert x[~held, 1].mean() < x[held, 1].min() - 0.4
    assert np.ptp(x[:, 2]) > 0.2  # in folds, not in a plane


def results(name):
    """The rows of a file of benchmarks/results."""
    with open(ROOT / "benchmarks" / "results" / name, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def spread(values):
    return " to ".join(f"{float(f'{value:.2g}'):.0f}" for value in (min(values), max(values)))


def test_the_page_gives_what_float32_leaves():
    """If not, the page on precision gives figures without a measurement."""
    page, rows = (ROOT / "docs" / "guide" / "precision.md").read_text(), results("float32_floor.csv")
    for row in rows:
        material = {"NeoHookean": "neo-Hookean"}.get(row["material"], row["material"])
        assert f"| {row['solver']} | {material} | {row['iterations']} | {row['float64']} | {row['float32']} |" in page
        assert f"{row['rounded']} ({material})" in " ".join(page.split())


def test_the_page_counts_the_verdicts_of_scripted_scenes():
    """If not, the page says of a kind of contact that it is right, or wrong, and the runs say something else."""
    page, rows = (ROOT / "docs" / "scripted_contact.md").read_text(), results("scripted_contact.csv")
    verdicts = ("right", "late and said", "refused", "late and unsaid", "wrong and unsaid")
    for scene in {row["scene"] for row in rows}:
        found = [row["verdict"] for row in rows if row["scene"] == scene]
        counts = " | ".join(str(found.count(verdict) or "") for verdict in verdicts)
        assert f"| {scene} | {counts} |" in page
    totals = [str(sum(row["verdict"] == verdict for row in rows)) for verdict in verdicts]
    assert page.count(f"| all | {' | '.join(totals)} |") == 2
    for row in rows:
        assert (row["failure"] in page) or not row["verdict"].endswith("unsaid")


def test_the_page_gives_the_model_of_several_gpus():
    """If not, the page promises another scaling than its model."""
    page, rows = (ROOT / "docs" / "multi_gpu.md").read_text(), results("multi_gpu_model.csv")
    cells = {(row["pieces"], row["scaling"], row["GPUs"]): row for row in rows}
    for count in sorted({row["GPUs"] for row in rows}):
        parts = [cells[pieces, scaling, count] for pieces, scaling in (("order", "strong"), ("order", "weak"), ("boxes", "weak"))]
        line = " | ".join(f"{float(part['iteration ms']):.2f} | {part['efficiency']}" for part in parts)
        assert f"| {count} | {line} |" in page


KERNELS_OF_THE_PAGE = {  # row of docs/gpu.md: kernel in float32, in float64
    "a colour of Vertex Block Descent, neo-Hookean tets": ("group_update_kernel<4>", "group_update_kernel<8>"),
    "the same, ARAP or co-rotated tets": ("rotated_update_kernel<1>",) * 2,
    "the same, all other elements, contact, line search": ("corner_update_kernel",) * 2,
    "a colour of rigid bodies": ("sweep_bodies_kernel",) * 2,
    "a sweep of Jacobi": ("sweep_kernel<3 1 0>",) * 2,
    "sweeps of Jacobi in one launch": ("jacobi_kernel<3 0 0>",) * 2,
    "a product of A-Jacobi": ("block_sweep_kernel<3 1 0>",) * 2,
    "a colour of Gauss-Seidel": ("relax_kernel<3>",) * 2,
    "the product of conjugate gradients": ("product_kernel<3>",) * 2,
    "the update of conjugate gradients": ("advance_kernel<3>",) * 2,
}


def test_the_page_on_gpus_gives_the_registers_of_the_kernels():
    """If not, the page gives registers of kernels that are no longer so."""
    page = (ROOT / "docs" / "gpu.md").read_text()
    resources = {(row["build"], row["kernel"]): row for row in results("gpu_kernel_resources.csv")}
    for name, kernels in KERNELS_OF_THE_PAGE.items():
        rows = [resources[key] for key in zip(("float32", "float64"), kernels, strict=True)]
        cells = [" / ".join(row[column] for row in rows) for column in ("registers", "threads/multiprocessor", "stack bytes")]
        assert f"| {name} | {' | '.join(cells)} |" in page


def test_the_page_on_gpus_gives_what_was_measured():
    """If not, the page claims another speed than the tables of the run."""
    page, folder = (ROOT / "docs" / "gpu.md").read_text(), "gpu/h200-2026-11-27"

    def row(table, **wanted):
        return next(row for row in results(f"{folder}/{table}.csv") if all(row[name] == value for name, value in wanted.items()))

    descent, large = (row(f"vertex_block_descent{size}", kernel="4 threads") for size in ("", "_large"))
    assert f"120 iterations | 5.5 ms | {float(descent['120 iterations ms']):.2f} ms |" in page
    assert f"40 iterations | none | {float(large['40 iterations ms']):.1f} ms |" in page
    one, two, three = (row("frames", what=f"A-Jacobi 2, K = {k}")["frames/s"] for k in (1, 2, 3))
    assert f"K = 1 | 1300 frames/s | {one} frames/s |" in page and f"| {two} and {three} frames/s |" in page
    solvers = {
        "Jacobi": "three columns",
        "PCG": "conjugate gradients",
        "Gauss-Seidel": "coloured Gauss-Seidel",
        "Jacobi-Chebyshev": "Chebyshev",
    }
    for solver, name in solvers.items():
        line = next(line for line in page.splitlines() if " of copy | " in line and line.split(" | ")[0].endswith(name))
        assert line.split(" | ")[2] == row("linear_solvers", what=solver)["of copy"]
    near, far = (float(row("broad_phase", method="lbvh", what="end to end", distance_in_edges=edges)["us"]) for edges in ("0.0", "0.5"))
    assert f"| 4 ms | {near / 1e3:.2f} ms |" in page and f"| 4 ms | {far / 1e3:.2f} ms |" in page
    steps = {("VBD", kind): row("contact_step_8_threads", solver="VBD", contact=kind) for kind in ("barrier", "penalty")}
    steps |= {(case["solver"], case["contact"]): case for case in results(f"{folder}/contact_step.csv") if case["solver"] != "VBD"}
    for case in steps.values():
        assert (
            f"{float(case['ms']):.1f} ms, {float(case['waits']):.0f}" in page
            or f"{float(case['ms']):.0f} ms, {float(case['waits']):.0f}" in page
        )


def test_the_prose_gives_the_figures_of_the_collision_times_in_both_precisions():
    """If not, who computes in float32 is promised what holds in float64 alone."""
    page, rows = (ROOT / "docs" / "speed.md").read_text(), results("ccd.csv")
    cells = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ipctk's")]
    for column, program in ((2, "pdgpu certified"), (3, "pdgpu certified, float32")):
        own = [row for row in rows if row["program"] == program]
        few = [row for row in own if row["count"] == "134"]
        hits = [row for row in own if row["pairs"] == "hits" and row not in few]
        whole = [row for row in own if row["pairs"] == "all"]
        assert [row[column] for row in cells] == [
            spread([float(row["x additive"]) for row in whole]),
            spread([float(row["x tight incl."]) for row in whole]),
            spread([float(row["x additive"]) for row in hits]),
            "{:.1f} on one thread, {:.1f} on two".format(*(float(row["x additive"]) for row in few)),
        ]
        steps = {(row["frame"], row["pairs"]) for row in own if float(row["step"]) == 0.0}
        assert len(steps) == (0 if column == 2 else 5)  # "every list but one"


def test_the_prose_gives_the_figures_of_the_other_results():
    """If not, the README claims a speed without a measurement."""
    text = prose()
    steps = [
        row for name in ("armadillo13k", "creature") for row in results(f"projective_dynamics_{name}.csv") if row["what"] == "PD iteration"
    ]
    one, two = (spread([float(row["x libigl"]) for row in steps if row["threads"] == threads]) for threads in "12")
    assert f"| iteration of Projective Dynamics, one thread | libigl's ARAP | {one} |" in text
    assert f"| the same, two threads | libigl's ARAP | {two} |" in text
    assert f"runs {one.split()[0]} to {two.split()[-1]} times as fast as libigl's" in text
    rows = {(row["scene"], row["threads"], row["program"]): row for row in results("broad_phase.csv")}
    built = {key: row for key, row in rows.items() if key[2] == "lbvh, built, float64"}
    ratios = [float(row["of_ipctk"]) for row in built.values()]
    built_in_each = "| trees built in each search, against the LBVH of ipctk, the fastest of its structures |"
    assert f"{built_in_each} {min(ratios):.1f} to {max(ratios):.1f} times as fast |" in text
    others = [float(row["of_ipctk"]) for key, row in rows.items() if key[2] in ("patches, float64", "hash, float64")]
    assert f"| patches and the hashed grid, against the same | {min(others):.1f} to {max(others):.1f} times as fast |" in text
    refitted = [float(rows[(*key[:2], "lbvh, refitted, float64")]["ms"]) / float(row["ms"]) for key, row in built.items()]
    assert f"| trees refitted, relative to trees built | {min(refitted):.1f} to {max(refitted):.1f} of the time" in text


def test_the_prose_gives_the_figures_of_orders_of_vertices():
    """If not, the order of a mesh promises what was not measured."""
    text, rows = prose(), [row for row in results("vertex_order.csv") if row["order"] == "along the curve"]
    of = {(row["solver"], int(row["vertices"]) // 1000): row for row in rows}
    for size, mesh in ((27, "armadillo, 28 thousand vertices"), (194, "the same, cut once into eight, 194 thousand")):
        gains = [of[solver, size]["x as read"] for solver in ("PD + Jacobi", "PD + A-Jacobi 2", "Vertex Block Descent")]
        assert f"| {mesh} | {' | '.join(gains)} |" in text
    before, after = (
        [row["sectors/row"] for row in results("vertex_order.csv") if (row["solver"], row["order"]) == ("PD + Jacobi", order)]
        for order in ("as read", "along the curve")
    )
    assert f"| armadillo | {before[0]} | {after[0]} | | the same, cut | {before[1]} | {after[1]} |" in text


def test_the_theory_gives_the_figures_of_accelerations_and_filters():
    """If not, the equations stand next to iterations that no run needed."""
    page = (ROOT / "docs" / "theory" / "solvers.md").read_text()
    found = {(row["scene"], row["method"], row["acceleration"]): row for row in results("anderson.csv")}
    for scene, method in dict.fromkeys(key[:2] for key in found):
        part = "0.001" if scene == "cloth" else "1e-06"
        runs = (found.get((scene, method, name)) for name in ("none", "Chebyshev", "Anderson 5", "Anderson 10"))
        cells = ["not taken" if run is None else run[f"to {part}"].replace("-", "> 500") for run in runs]
        assert f"| {scene} | {method} | {part} | {' | '.join(cells)} |" in page
    counts = {(row["start"], row["poisson"], row["hessian"]): row for row in results("hessian_filters.csv")}
    for start, poisson in dict.fromkeys(key[:2] for key in counts):
        runs = [counts[start, poisson, name] for name in ("auto", "clamp", "absolute", "adaptive")]
        cells = [", ".join(run[f"to {part}"] for run in runs) for part in ("0.01", "1e-06", "1e-08")]
        assert f"| {start} | {poisson} | {' | '.join(cells)} |" in page


def test_the_theory_gives_the_figures_of_filtered_blocks():
    """If not, a filter of vertex blocks is described by sweeps that no run needed."""
    names, columns = ("auto", "clamp", "absolute", "exact"), ("solver", "material", "start", "poisson", "hessian")
    page = (ROOT / "docs" / "theory" / "solvers.md").read_text()
    found = {tuple(row[name] for name in columns): row for row in results("hessian_filters_blocks.csv")}
    cases = [case for case in dict.fromkeys(key[:4] for key in found) if case[0] == "VertexBlockDescent"]
    counts = {case: [[found[*case, name][f"to {part}"] for name in names] for part in ("0.01", "1e-06")] for case in cases}
    for case in cases:
        line = f"| {' | '.join(case[1:])} | {' | '.join(', '.join(cell) for cell in counts[case])} |"
        assert (line in page) == (case[3] in ("0.3", "0.45", "0.499")), line
        assert case[1] != "NeoHookean" or all(cell[0] == cell[3] for cell in counts[case])
    stalled = [case for case in cases if found[*case, "exact"]["status"] == "stalled"]
    assert stalled == [case for case in cases if case[1] != "NeoHookean" and case[2] == "inverted"]
    assert f"All {len(stalled)} inverted StVK and co-rotated beams stall" in page
    number = [[np.inf if cell == "-" else int(cell) for cell in counts[case][1]] for case in cases]
    fewer, more = sum(n[2] < 0.9 * n[0] for n in number), sum(0.9 * n[2] > n[0] for n in number)
    assert f'10 % fewer sweeps than `"auto"` in {fewer} of {len(cases)} runs, and at least 10 % more in {more}.' in page
    near = counts["VertexBlockDescent", "NeoHookean", "inverted", "0.499"][0]
    assert f'needs {near[1]} sweeps with\n  `"clamp"` and {near[0]} with' in page
    assert f"{near[1]} instead of {near[0]} sweeps to a gradient norm of 1e-2" in (ROOT / "docs" / "choose_a_solver.md").read_text()
    jacobi = [found["BlockJacobi", "NeoHookean", "random", "0.3", name]["to 1e-08"] for name in names[:3]]
    assert f"needs {jacobi[0]}, {jacobi[1]} and {jacobi[2]} iterations" in page


def test_the_prose_gives_the_figures_of_preconditioners():
    """If not, a preconditioner is recommended by iterations and times that no run had."""
    page, text = (ROOT / "docs" / "theory" / "solvers.md").read_text(), prose()
    found = {(row["system"], row["vertices"], row["contrast"], row["preconditioner"]): row for row in results("multilevel.csv")}
    names = ("jacobi", "block", "chebyshev", "multilevel")
    shown = [key for key in dict.fromkeys(key[:3] for key in found) if key[1] not in ("1225", "350")]
    for key in shown:
        counts = [found[(*key, name)]["iterations"] if (*key, name) in found else "-" for name in names]
        assert f"| {' | '.join(key)} | {', '.join(counts)} | {found[(*key, 'multilevel')]['relative']} |" in page
    times = [found[(*key, "multilevel")]["relative"] for key in shown if key[0] != "PD"]
    assert f"Time: {min(times)} to {max(times)} of blocks" in page
    last = found["contact", "12138", "10000", "multilevel"]
    counts = f"{last['iterations']} instead of {found['contact', '12138', '10000', 'block']['iterations']} iterations"
    assert f"{counts}, {last['relative']} of the time of 3x3 blocks" in text
    bar = found["Newton", "35721", "1", "multilevel"]["relative"]
    assert f"{last['relative']} of the time of 3x3 blocks for a contrast of 1e4 in contact at 12138 vertices; {bar} of it" in text


def test_the_prose_gives_the_figures_of_smoothed_aggregation():
    """If not, it is recommended by iterations and times that no run had."""
    page, text = (ROOT / "docs" / "theory" / "solvers.md").read_text(), prose()
    rows = {(row["system"], row["vertices"], row["contrast"], row["preconditioner"]): row for row in results("amg.csv")}

    def relative(*key, name="amg"):
        return f"{float(rows[(*key, name)]['seconds']) / float(rows[(*key, 'jacobi')]['seconds']):.2f}"

    for key in dict.fromkeys(key[:3] for key in rows if int(key[1]) > 3000):
        counts = [rows[(*key, name)]["iterations"] if (*key, name) in rows else "-" for name in ("jacobi", "block", "multilevel", "amg")]
        assert f"| {' | '.join(key)} | {', '.join(counts)} | {relative(*key, name='multilevel')}, {relative(*key)} |" in page
    even, uneven = ([relative(system, "95033", contrast) for system in ("PD", "Newton")] for contrast in ("1", "10000"))
    assert f"Time at 95033 vertices: {even[0]} of the diagonal in PD and {even[1]} in Newton" in text
    assert f"With a contrast of 1e4 it is {uneven[0]} and {uneven[1]}." in text
    assert f"{uneven[1]} of the time of the diagonal for a contrast of 1e4 at 95033 vertices in Newton, {uneven[0]} in" in text
    first, last = (rows["PD", count, "1", "amg"]["iterations"] for count in ("10388", "988281"))
    power = np.log(int(last) / int(first)) / np.log(988281 / 10388)
    assert f"with a power of {power:.2f} of the vertices, from {first} at 10388 to {last} at 988281" in text


def test_the_prose_gives_the_figures_of_grains():
    """If not, a cost of grains is claimed that is not what was measured."""
    text, rows = prose(), results("grains.csv")
    descent, two_way, hairs = (
        next(row for row in rows if (row["solver"], row["bodies"]) == case)
        for case in (("vertex block descent", "100000"), ("two-way", "100000"), ("two-way", "10000"))
    )
    assert f"ten iterations of Vertex Block Descent | {int(descent['pairs']):,} | | {descent['exponent']} |" in text
    each = float(two_way["microseconds per pair"])
    assert f"| {int(two_way['pairs']):,} | {each:.1f} µs a pair; 4.0 µs with 10,240 grains | {two_way['exponent']} |" in text
    each, whole = float(hairs["microseconds per pair"]), float(hairs["seconds"])
    assert f"| {int(hairs['pairs']):,} | {each:.1f} µs a pair, {whole:.1f} s a step | {hairs['exponent']} |" in text
    assert all(row["met"] == "0" for row in rows)


def test_the_prose_gives_the_figures_of_lengths_by_impact():
    """If not, what the two-way method saves, or costs, is claimed as it was not measured."""
    large = next(row for row in results("two_way.csv") if (row["lengths"], row["vertices"]) == ("by distances", "1681"))
    each_step = 1e3 * float(large["seconds"]) / int(large["steps"])
    assert f"takes {each_step:.1f} ms a step, {float(large['pairs ms']):.1f} of it for the near pairs" in prose()


def test_the_prose_gives_the_figures_of_a_schur_complement():
    """If not, a saving is claimed that is not, or one is hidden."""
    text, rows = prose(), results("schur_complement.csv")
    bar = {row["m"]: row for row in rows if row["vertices"] == "87300"}
    two, two_float, one, one_float = (
        {row["m"]: row for row in results(f"schur_complement_{threads}_{dtype}.csv")}
        for threads in ("two_threads", "one_thread")
        for dtype in ("float64", "float32")
    )
    rates = two["1000"]["of dgemm"], two["2000"]["of dgemm"]
    taken, whole = 1e3 * float(two["1000"]["iteration s"]), float(two["1000"]["refactorisation s"])
    assert f"| iteration | {taken:.0f} ms | | factorisation of the whole matrix | {whole:.2f} s |" in text
    for threads, double, single in ((2, two, two_float), (1, one, one_float)):
        for m in ("1000", "2000"):
            assert f"| {m} | {threads} | {double[m]['ratio']} | {single[m]['ratio']} |" in text
    assert f"relative to a product of matrices | {rates[0]}; {rates[1]} with 2000 vertices |" in text
    assert f"then at {bar['4000']['of dgemm']} of the rate of a product" in text


def test_the_prose_gives_the_figures_of_contact():
    """If not, the README promises a safety or a speed without a measurement."""
    text, rows = prose(), results("never_intersects.csv")
    fine = results("never_intersects_fine.csv")
    assert all(row["intersections"] == "0" for row in [*rows, *fine])
    scenes, steps = {row["scene"] for row in rows}, sum(int(row["steps"]) for row in rows)
    assert f"| Newton's method, small scenes | {len(rows)} | {len(scenes)} | {steps:,} | 0 |" in text
    assert f"| Newton's method, longer runs of finer meshes | {len(fine)} | | | 0 |" in text
    others = results("solvers_never_intersect.csv")
    assert all(row["intersections"] == "0" for row in others)
    solvers, steps = {row["solver"] for row in others}, sum(int(row["steps"]) for row in others)
    scenes = len({row["scene"] for row in others})
    assert f"| {len(solvers)} solvers, small scenes, one iteration a step and more | | {scenes} | {steps:,} | 0 |" in text
    assert f"The test had {len(solvers)} solvers, {scenes} scenes and {steps:,} steps" in text
    cloth = {row["program"]: row for row in results("ipc_cloth.csv")}
    theirs = float(cloth["MuJoCo"]["milliseconds"])
    for name, row in cloth.items():
        step, iteration = float(row["milliseconds"]), float(row["iteration"])
        ratio = "1" if name == "MuJoCo" else f"{step / theirs:.2f}"
        assert f"| {step:.0f} | {iteration:.1f} | {ratio} |" in text, name
    assert f"| MuJoCo's IPC mode | {theirs / float(cloth['Newton, auto']['milliseconds']):.1f} | `ipc_cloth.csv` |" in text
    speed = {row["program"]: float(row["times_as_fast"]) for row in results("contact_step.csv")}
    assert f"| the method of Li et al. 2020 with ipctk | {speed['pdgpu']:.1f} | `contact_step.csv` |" in text
    friction = results("contact_friction.csv")[-1]
    share, pairs = round(100 * float(friction["share"])), int(friction["pairs"])
    assert f"two sheets of cloth with {pairs:,} pairs | adds {share} % to G, its gradient and its projected Hessian |" in text


def test_the_guide_counts_the_scenes_of_other_programs():
    """If not, a lab expects that scenes run which are refused."""
    page = (ROOT / "docs" / "guide" / "files.md").read_text()
    ipc, polyfem = ([row["outcome"] for row in results(f"scene_files_{name}.csv")] for name in ("ipc", "polyfem"))
    for outcome in ("runs", "runs with a substitute", "refused"):
        assert f"| {outcome} | {ipc.count(outcome)} | {polyfem.count(outcome)} |" in page
    assert f"| all | {len(ipc)} | {len(polyfem)} |" in page
    ran = results("scene_files_runs.csv")
    whole = sum(row["clean_on"] == "path" for row in ran)
    assert not any(row["clean_on"] == "intersects" for row in ran)
    assert (
        f"{len(ran)} scripts of IPC" in page and f"In {whole} of them" in page and f"in {len(ran) - whole} with a moving obstacle" in page
    )
    assert f"was {min(float(row['smallest_J']) for row in ran):.3f}" in page


def test_the_page_on_solvers_gives_the_fastest_of_each_run():
    """If not, a reader takes a solver that was slower."""
    page, runs, wins = (ROOT / "docs" / "choose_a_solver.md").read_text(), {}, {"1e-2": [], "1e-6": []}
    for row in results("solvers_in_contact.csv"):
        runs.setdefault((row["scene"], row["stiffness Pa"], row["friction"]), []).append(row)
    for (scene, stiffness, friction), rows in runs.items():
        cells = []
        for loss, first in wins.items():
            times = sorted((float(row[f"ms to {loss}"]), row) for row in rows if row[f"ms to {loss}"] != "-")
            cells.append("; ".join(f"{row['solver']} {row[f'ms to {loss}']}" for _, row in times[:2]))
            first.append(times[0][1]["solver"])
        assert f"| {scene} | {stiffness} Pa, {friction} | {' | '.join(cells)} |" in page
    assert f"1e-6 in {wins['1e-6'].count('Newton-CG')} of {len(runs)} runs in contact" in page
    assert f"fastest in {wins['1e-2'].count('PD, PCG')} and {wins['1e-2'].count('Newton-CG')} of {len(runs)} runs" in page
    equal = {row["method"]: row for row in results("contact_at_equal_stretch.csv") if row["vertices"] == "1089"}
    projective, full, two_way = (equal[name] for name in ("projective IPC", "full IPC", "two-way after PD"))
    assert f"{float(projective['seconds']):.3f} s against {float(full['seconds']):.2f} s of full IPC" in page
    assert f"error of {projective['median error']} against {full['median error']}" in page
    assert f"keeps {two_way['gap mm']} mm where full IPC keeps {full['gap mm']} mm" in page
    near = results("one_answer.csv")
    for line in page.split("| solver | cube on floor |")[1].splitlines()[2:]:
        if not line.startswith("| "):
            break
        solver, *counts = (cell.strip() for cell in line.strip("|").split("|"))
        scenes = ("cube on floor", "cube on cube", "cloth on sphere", "crossing cloths", "rod round capsule", "squeezed bunny")
        for scene, said in zip(scenes, counts, strict=True):
            row = next(row for row in near if (row["scene"], row["solver"]) == (scene, solver))
            assert said == f"{row['to_1e-4']}, {row['to_1e-6']}"


def test_links_lead_somewhere():
    """If not, who follows the README ends at an error page."""
    for path in PROSE:
        for target, heading in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", path.read_text()):
            assert target.startswith("http") or (path.parent / target).exists(), (path.name, target)
            if heading and not target.startswith("http"):
                page = (path.parent / target if target else path).read_text()
                headings = [line.lstrip("# ").lower() for line in page.splitlines() if line[:1] == "#"]
                anchors = [re.sub(r"[^\w -]", "", line).replace(" ", "-") for line in headings]
                assert heading in anchors, (path.name, target, heading)


@pytest.mark.parametrize(("page", "count"), [("architecture", 40), ("glossary", 40)])
def test_pages_name_files_that_are_there(page, count):
    """If not, a reader who looks for the place to change finds nothing."""
    named = re.findall(r"`((?:csrc|python|tests|docs)/[\w./]+)`", (ROOT / "docs" / f"{page}.md").read_text())
    assert len(named) > count
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", [path.relative_to(ROOT).as_posix() for path in (*PROSE, ROOT / "CONTRIBUTING.md")])
def test_every_page_names_files_and_tables_that_are_there(page):
    """If not, a figure or a formula has a source that is nowhere."""
    text = (ROOT / page).read_text()
    files = re.findall(r"`((?:csrc|python|tests|docs|examples|benchmarks|scripts|notebooks)/[\w./]+)`", text)
    assert [name for name in files if "NAME" not in name and not (ROOT / name).exists()] == []
    tables = {path.name for folder in ("benchmarks/results", "tests") for path in (ROOT / folder).rglob("*.csv")}
    assert set(re.findall(r"`(\w+\.csv)`", text)) <= tables


def test_the_page_on_architecture_follows_a_step():
    """If not, a reader looks for a part of the step in a file that the step does not reach."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    walk = re.findall(r"^\| (`csrc/.*?) \|", page.split("| file | task")[1].split("\n\n")[0], re.MULTILINE)
    rows = [[(ROOT / name).read_text() for name in re.findall(r"`([^`]+)`", row)] for row in walk]
    assert len(rows) >= 6 and any("chunk.c" in row for row in walk)
    words = [set(re.findall(r"\bpd_\w+", " ".join(texts))) for texts in rows]
    for k in range(1, len(rows)):
        defined = set(re.findall(r"^(?!static)\w[\w *]*?\b(pd_\w+)(?:\(| =)", "\n".join(rows[k]), re.MULTILINE))
        earlier = set().union(*words[:k])
        assert defined & earlier or any("pd_method" in text for text in rows[k]), walk[k]


def test_the_page_on_architecture_knows_where_a_column_comes_from():
    """If not, a new column of the records is looked for in the wrong file."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith("| add a column to the records"))
    texts = {name: (ROOT / name).read_text() for name in re.findall(r"`((?:csrc|python)/[^`]+)`", line)}
    table = next(text for text in texts.values() if "#define PD_RECORD_TABLE" in text)
    fields = re.findall(r"X\(\w+, \"(\w+)\", (\w+), ([\w.]+)\)", table)
    assert len(fields) > 20
    (filled,) = (text for name, text in texts.items() if name.endswith(".c"))
    for _, part, field in fields:
        assert part == "CONTACT" or re.search(rf"row\.{field.split('.')[0]}\b", filled), field


def test_the_page_on_architecture_counts_the_files_of_an_addition():
    """If not, the table says less or more than it lists, or names a file that is there no more."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.split("| addition | before | now |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    there = {path.name for folder in ("csrc", "python") for path in (ROOT / folder).rglob("*.*")}
    assert len(rows) == 5
    for name, *cells in rows:
        for cell in cells:
            count, files = cell.split(":", 1)
            named = re.findall(r"`([^`]+)`", files)
            assert int(count) == len(named) + len(re.findall(r"\bits (?:file|header)\b", files)) + 2 * files.count("its two files"), name
            assert len(set(named)) == len(named), name
        assert set(re.findall(r"`([^`]+)`", cells[1])) <= there, name


def test_the_reference_names_everything_public():
    """If not, a class that one can use is nowhere explained."""
    text = "".join(path.read_text() for path in (ROOT / "docs" / "reference").glob("*.rst"))
    named = set(re.findall(r"^\.\. auto\w+:: pdgpu\.(\w+)$", text, re.MULTILINE))
    assert named >= {name for name in pdgpu.__all__ if not name.startswith("_")}


@pytest.mark.parametrize(
    ("lines", "said"),
    [("raise ValueError('no such mesh')", "ValueError: no such mesh"), ("raise SystemExit('not recovered')", "not recovered")],
)
def test_a_script_that_fails_is_seen_to_fail(lines, said, tmp_path):
    """If not, an example may end in a traceback and its test pass."""
    script = tmp_path / "script.py"
    script.write_text(f"print('begun')\n{lines}\n")
    result = scripts_apart.run(script, folder=tmp_path, timeout=100)
    assert result.returncode == 1 and result.stdout == "begun\n" and said in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.stress)], ids=["quick", "in full"])
def test_examples_run_and_write_their_picture(name, quick, tmp_path):
    """If not, an example rots."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    script = ROOT / "examples" / f"{name}.py"
    short = ["--quick"] * ("--quick" in script.read_text())
    if not (quick or short):
        pytest.skip("has no short form: always run in full")
    result = scripts_apart.run(script, "--out", tmp_path, *(short if quick else []), folder=tmp_path, timeout=600)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / f"{name}.png").stat().st_size > 10000


# those that take seconds in their short form too; `make papers` runs all in full
LONG_FIGURES = (
    *("chen2024_figure12", "chen2024_figure13", "chen2024_figure14_bottom", "chen2024_figure15", "chen2024_figure17", "chen2024_figure20"),
    *("chen2024_figure23", "chen2024_table1"),
    *("lan2022_figure5", "lan2022_figure7", "lan2022_figure11", "lan2022_section7", "lan2022_table1"),
    *("wang2015_figure5", "wang2015_figure6", "wang2021_figure4", "wang2021_figure5", "wang2021_figure6", "wang2021_figure7"),
    *("wang2023_figure7", "wang2023_figure11", "wang2023_figure12", "wang2023_figure13", "wang2023_figure18", "wang2023_figure20"),
)
FIGURES = sorted(path.stem for path in (ROOT / "examples" / "papers").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.stress] if name in LONG_FIGURES else []) for name in FIGURES])
def test_figures_of_papers_are_reproduced(name, tmp_path):
    """If not, a claim of a paper can no longer be held against a measurement."""
    script = ROOT / "examples" / "papers" / f"{name}.py"
    result = scripts_apart.run(script, "--quick", "--out", tmp_path, folder=tmp_path, timeout=300)
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"claim: .+\nmeasured: .+\n", result.stdout)
    assert (tmp_path / f"{name}.png").stat().st_size > 10000
    tables = sorted(tmp_path.glob("*.csv"))
    assert tables and all(path.read_text().startswith("# claim: ") for path in tables)


NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
# those that take the longest; what they call has tests of its own
LONG_NOTEBOOKS = (
    *("from_runs_to_tables.ipynb", "solvers_when_bodies_touch.ipynb", "when_does_a_schur_complement_pay.ipynb"),
    "which_solver_for_my_mesh.ipynb",
)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_show_their_results(name):
    """If not, a reader on the web sees a study without a number, or the folders of whoever ran it."""
    cells = json.loads((ROOT / "notebooks" / name).read_text())["cells"]
    ran = [cell for cell in cells if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]
    assert all(cell["execution_count"] for cell in ran) and any(cell["outputs"] for cell in ran)
    assert any("image/png" in output.get("data", {}) for cell in ran for output in cell["outputs"])
    for cell in ran:
        assert not any(output["output_type"] == "error" or output.get("name") == "stderr" for output in cell["outputs"])
        said = [output.get("text", output.get("data", {}).get("text/plain", [])) for output in cell["outputs"]]
        assert not re.search(r"(^|[\s'\"(])/(home|root|tmp|work|usr|opt|mnt)/", "".join(map("".join, said))), said


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.stress] if name in LONG_NOTEBOOKS else []) for name in NOTEBOOKS])
def test_notebooks_execute(name, monkeypatch):
    """If not, a study cannot be repeated."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PDGPU_NOTEBOOK_CELLS", "9")
    notebook = nbformat.read(ROOT / "notebooks" / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
