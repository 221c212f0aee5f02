"""The table of claims, docs/claims.csv, agrees with scripts, results and the generated pages."""

import csv
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
import script_modules

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "claims"
COLUMNS = ["id", "paper", "place", "claim", "verdict", "measured", "script", "result", "device", "date"]
FIGURES = {"wang2015": (9, 1), "wang2021": (7, 0), "lan2022": (17, 1), "wang2023": (23, 3), "chen2024": (24, 1)}  # figures, tables
LONGEST = {"place": 40, "claim": 130, "measured": 200}
KINDS = ["Fig.", "Table", "Alg.", "Sec."]


CLAIMS = script_modules.load("claims")
ROWS = CLAIMS.read()
BY_ID = {row["id"]: row for row in ROWS}


def measured(identity):
    return BY_ID[identity]["measured"]


def results(name):
    """The rows of a file of benchmarks/results."""
    with open(ROOT / "benchmarks" / "results" / name, newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def sentences(text):
    return [part for part in re.split(r"(?<=[.?!])\s+(?=[A-Z0-9\"`(μρ]|pdgpu)", text) if part]


def faults(rows, root=ROOT):
    """The faults of a table of claims: each a sentence that names the row."""
    found = []
    ids = [row["id"] for row in rows]
    found += [f"{name}: not unique" for name in sorted({name for name in ids if ids.count(name) > 1})]
    for row in rows:
        name = row["id"]
        if not re.fullmatch(rf"{row['paper']}-[a-z0-9-]+", name):
            found.append(f"{name}: expected PAPER-KEY with the paper {row['paper']!r}")
        if row["verdict"] not in CLAIMS.VERDICTS:
            found.append(f"{name}: unknown verdict {row['verdict']!r}")
        found += [f"{name}: {column} is empty" for column in ("place", "claim", "measured") if not row[column].strip()]
        found += [f"{name}: {column} has {len(row[column])} characters" for column, most in LONGEST.items() if len(row[column]) > most]
        for column in ("claim", "measured"):
            found += [f"{name}: a sentence of {column} is long: {part}" for part in sentences(row[column]) if len(part.split()) > 25]
            found += [f"{name}: {column} has a line break"] * ("\n" in row[column])
        found += [f"{name}: no file {row[column]}" for column in ("script", "result") if row[column] and not (root / row[column]).is_file()]
        tested = row["verdict"] != "not tested"
        found += [f"{name}: {column} is empty" for column in ("device", "date") if tested and not row[column]]
        if row["date"]:
            date.fromisoformat(row["date"])
    named = {row["script"] for row in rows}
    scripts = sorted((root / "examples" / "papers").glob("*.py"))
    return found + [f"{path.name}: no row names it" for path in scripts if str(path.relative_to(root)) not in named]


def order(place):
    """Where a row of a paper belongs: figures, then tables, algorithms, sections, each by its number."""
    kind, number = re.match(r"([A-Z]\w+\.?) (\d+(?:\.\d+)?)", place).groups()
    return KINDS.index(kind), float(number)


def test_the_table_agrees_with_scripts_and_results():
    """If not, a claim points to a script or a result that is gone, or a script reproduces a figure that no row mentions."""
    with open(ROOT / "docs" / "claims.csv", newline="") as file:
        assert next(csv.reader(file)) == COLUMNS
    assert len(ROWS) > 150
    assert faults(ROWS) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"script": "examples/papers/chen2024_figure99.py"}, "no file examples/papers/chen2024_figure99.py"),
        ({"result": "benchmarks/results/none.csv"}, "no file benchmarks/results/none.csv"),
        ({"verdict": "nearly"}, "unknown verdict 'nearly'"),
        ({"claim": " "}, "claim is empty"),
        ({"date": ""}, "date is empty"),
        ({"measured": "word " * 26}, "a sentence of measured is long"),
        ({"measured": "word. " * 40}, "measured has 240 characters"),
        ({"id": "chen2024-fig2"}, "not unique"),
        ({"id": "fig7"}, "expected PAPER-KEY"),
    ],
)
def test_a_fault_of_the_table_is_found(change, said):
    """If not, the test above passes for any table."""
    rows = [row | change if row["id"] == "chen2024-fig7" else row for row in ROWS]
    found = faults(rows)
    assert any(said in fault for fault in found)


def test_a_removed_script_is_found(tmp_path):
    """If not, a script can be renamed or removed and its rows stay."""
    for row in ROWS:
        for column in ("script", "result"):
            if row[column]:
                (tmp_path / row[column]).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / row[column]).touch()
    assert faults(ROWS, tmp_path) == []
    (tmp_path / "examples" / "papers" / "lan2022_figure11.py").unlink()
    assert any("no file examples/papers/lan2022_figure11.py" in fault for fault in faults(ROWS, tmp_path))
    (tmp_path / "examples" / "papers" / "lan2022_figure99.py").touch()
    assert "lan2022_figure99.py: no row names it" in faults(ROWS, tmp_path)


@pytest.mark.parametrize("paper", FIGURES)
def test_every_figure_and_table_of_a_paper_has_a_row(paper):
    """If not, a figure that is not reproduced is missing from the page, and the page looks complete."""
    places = [row["place"] for row in ROWS if row["paper"] == paper]
    for kind, count in zip(("Fig.", "Table"), FIGURES[paper], strict=True):
        numbers = {int(number) for place in places for number in re.findall(rf"{re.escape(kind)} (\d+)", place)}
        assert numbers >= set(range(1, count + 1)) and max(numbers, default=0) <= count
    assert [order(place) for place in places] == sorted(order(place) for place in places)


def test_the_pages_are_those_of_the_table():
    """If not, the pages show another table than docs/claims.csv."""
    pages = CLAIMS.pages()
    assert [page.stem for page in pages] == ["claims", *sorted(CLAIMS.PAPERS)] and set(CLAIMS.PAPERS) == set(FIGURES)
    for page in pages:
        assert CLAIMS.written(page, ROWS) == page.read_text(encoding="utf-8"), f"run scripts/claims: {page.name}"
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert all(row["claim"].replace("|", "\\|") in shown and row["measured"].replace("|", "\\|") in shown for row in ROWS)
    result = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0 and f"agree with {len(ROWS)} rows" in result.stdout, result.stderr


@pytest.mark.parametrize("paper", FIGURES)
def test_each_claim_that_is_not_reproduced_is_discussed(paper):
    """If not, a page says that a claim fails and leaves the reader without a reason."""
    page = (ROOT / "docs" / "claims" / f"{paper}.md").read_text(encoding="utf-8")
    headings = " ".join(re.findall(r"^### (.*?):", page.split("## Discussion")[1], re.MULTILINE))
    failed = {row["place"] for row in ROWS if row["paper"] == paper and row["verdict"] == "not reproduced"}
    missing = [place for place in sorted(failed) if not any(part.strip() in headings for part in place.split(", ") if part[0].isupper())]
    assert missing == []


def test_the_discussions_are_short():
    """If not, the pages grow back into long private sentences."""
    for page in CLAIMS.pages():
        prose = re.sub(r"```.*?```|^[|<#].*?$|<!--.*?-->", "\n\n", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for paragraph in re.split(r"\n\s*\n|\n- ", prose):
            assert max((len(part.split()) for part in sentences(" ".join(paragraph.split()))), default=0) <= 25, (page.name, paragraph)


def test_the_order_of_rigid_bodies():
    """If not, a claim of convergence stands there without a measurement."""
    rows = results("rigid_tops.csv")
    finest = [float(row["order"]) for row in rows if row["dt"] == "0.0005"]
    assert f"come {2 ** min(finest):.2f} to {2 ** max(finest):.2f} times as near" in measured("other-ferguson2021-order")
    top = next(row for row in rows if row["case"] == "heavy top" and row["dt"] == "0.0001")
    assert f"a top on a stick is {float(top['angle']):.2f} rad off" in measured("other-ferguson2021-top")
    assert max(float(row["linear"]) for row in rows if row["linear"]) < 1e-13
    found = {row["case"]: row for row in results("rigid_contact.csv")}
    assert f"rolls at {float(found['ball']['measured']):.3f} of" in measured("other-ferguson2021-slide")
    assert f"bears {float(found['pile']['measured']):.3f} of the weight" in measured("other-ferguson2021-heap")


def test_the_queries_in_both_precisions():
    """If not, the accuracy of a method in float64 is taken for that in float32."""
    rows, said = results("ccd_queries.csv"), {}
    for dtype in ("float64", "float32"):
        near, went, kept = {}, {}, {}
        for method in ("certified", "min_gradient", "additive"):
            own = [row for row in rows if row["dtype"] == dtype and row["method"] == method]
            assert all(row["missed"] == row["late"] == "0" for row in own)
            near[method] = sum(int(row["near"]) for row in own)
            went[method] = sum(float(row["ratio"]) * int(row["timed"]) for row in own) / sum(int(row["timed"]) for row in own)
            kept[method] = min(float(row["kept"]) for row in own)
        said[dtype] = went["min_gradient"], went["additive"], near["min_gradient"] / near["additive"], kept
    text, (go, beside, times, kept) = measured("lan2022-sec6-time"), said["float64"]
    assert f"float64 {go:.2f} against {beside:.2f}, with {times:.2f} times the near misses" in text
    assert min(kept["certified"], kept["additive"]) > 0.099
    go, beside, times, kept = said["float32"]
    assert f"In float32 {go:.2f} against {beside:.2f}, with {times:.2f} times" in text
    assert f'{kept["certified"]:.3f} ("certified") and {kept["additive"]:.3f} ("additive")' in measured("other-li2021-kept")


def test_the_cost_of_a_jacobi():
    """If not, an order of A-Jacobi looks cheaper than it was."""
    orders = {row["order"]: float(row["of Jacobi"]) for row in results("linear_solvers_a_jacobi.csv") if row["matrix"] == "creature"}
    text = measured("lan2022-fig8-tets")
    assert f"one iteration costs {orders['2']:.0f} (order 2) or {orders['3']:.0f} (order 3) Jacobi iterations" in text
    frames = {row["what"]: row["frames/s"] for row in results("gpu/h200-2026-11-27/frames.csv")}
    counts = [frames[f"A-Jacobi {order}, K = 1"] for order in (1, 2, 3)]
    assert "{} frames a second with order 1, {} with order 2 and {} with order 3".format(*counts) in measured("lan2022-fig8-gpu")


def test_the_figures_of_the_gpu():
    """If not, a row claims another speed than the run on the GPU had."""
    folder = "gpu/h200-2026-11-27"
    descent = next(row for row in results(f"{folder}/vertex_block_descent.csv") if row["kernel"] == "4 threads")
    assert f"take {float(descent['120 iterations ms']):.2f} ms" in measured("chen2024-table1-gpu")
    assert f"has {descent['colours']} colours" in measured("chen2024-fig8")
    step = next(row for row in results(f"{folder}/contact_step.csv") if (row["solver"], row["contact"]) == ("PD, A-Jacobi", "projective"))
    assert f"{int(step['pairs']):,} pairs" in measured("lan2022-sec7-gpu") and f"takes {step['ms']} ms" in measured("lan2022-sec7-gpu")


def test_contact_at_equal_stretch():
    """If not, a method is said to be faster, or nearer to the answer, than it was."""
    rows = [row for row in results("contact_at_equal_stretch.csv") if row["vertices"] == "1089"]
    of, names = {row["method"]: row for row in rows}, ("full IPC", "projective IPC", "two-way after PD", "two-way after Newton")
    for key, column, said in (
        ("stretch", "seconds", "took {}, {}, {} and {} s"),
        ("gap", "gap mm", "kept {}, {}, {} and {} mm"),
        ("error", "median error", "were {}, {}, {} and {} of the move"),
    ):
        assert said.format(*(of[name][column] for name in names)) in measured(f"wang2023-sec7-{key}")
    assert all(row["intersections"] in ("0", "") for row in rows)


def test_the_two_way_method_after_every_solver():
    """If not, more scenes are said to be verified than were, or an intersection is hidden."""
    rows = results("two_way_never_intersects.csv")
    scenes, solvers = ({row[name] for row in rows} for name in ("scene", "solver"))
    assert len(rows) == len(scenes) * len(solvers) and {row["intersections"] for row in rows} == {"0"}
    updates, unfinished = (sum(int(row[name]) for row in rows) for name in ("updates", "unfinished"))
    assert f"{len(scenes)} scenes with each, {updates} updates" in measured("wang2023-fig4")
    assert f"{unfinished} of {updates} updates do not end" in measured("wang2023-fig4-unfinished")
    single = results("two_way_never_intersects_float32.csv")
    assert {row["dtype"] for row in single} == {"float32"} and {row["intersections"] for row in single} == {"0"}
    assert len(single) == len(rows) and sum(int(row["updates"]) for row in single) == updates
    assert f"{sum(int(row['unfinished']) for row in single)} updates do not end" in measured("wang2023-fig4-float32")


def test_step_lengths_by_impact():
    """If not, a saving of the two-way method is claimed that was not measured."""
    rows = results("two_way.csv")
    small, large = (row for row in rows if row["lengths"].startswith("by each"))
    alone, whole = measured("wang2023-fig16"), measured("wang2023-fig16-list")
    assert f"CCD takes {small['forward ratio']} and {large['forward ratio']} times as long" in alone
    assert f"{small['scheme ratio']} and {large['scheme ratio']} times" in alone
    assert f"CCD takes {small['with pairs ratio']} and {large['with pairs ratio']} times as long" in whole
    assert f"An update takes {small['update ratio']} and {large['update ratio']} times" in whole
    assert f"a step {small['step ratio']} and {large['step ratio']} times" in whole
    page = " ".join((ROOT / "docs" / "claims" / "wang2023.md").read_text(encoding="utf-8").split())
    assert f"up to {small['apart']} and {large['apart']} of the distance apart" in page
    ours = [row for row in rows if row["lengths"] == "by distances"]
    assert all(row["unfinished"] == "0" for row in rows) and [row["vertices"] for row in ours] == ["441", "1681"]
    said = ["{:.2f} and {:.2f}".format(*(float(row[name]) for row in ours)) for name in ("pairs ms", "forward ms")]
    assert f"{said[0]} ms for the candidate list and {said[1]} ms for lengths and motion" in page


def test_a_schur_complement():
    """If not, a saving is claimed that is not there, or one is hidden."""
    rows = results("schur_complement.csv")
    bar, cube = ({row["m"]: row for row in rows if row["vertices"] == n} for n in ("87300", "91125"))
    two, two_float, one, one_float = (
        {row["m"]: row for row in results(f"schur_complement_{threads}_{dtype}.csv")}
        for threads in ("two_threads", "one_thread")
        for dtype in ("float64", "float32")
    )
    twice = [of[m]["ratio"] for m in ("1000", "2000") for of in (two, two_float)]
    text = measured("wang2021-fig4-speed")
    assert "{} times as fast as a whole factorisation. With a float32 local step {}".format(*twice[:2]) in text
    assert "with 2000 vertices {} and {}".format(*twice[2:]) in text
    text, single = measured("wang2021-fig4-one-core"), [of[m]["ratio"] for m in ("1000", "2000") for of in (one, one_float)]
    assert "{} times as fast as a whole factorisation, {} with".format(*single[:2]) in text
    assert "With 2000 vertices: {} and {} times".format(*single[2:]) in text
    assert f"{bar['4000']['ratio']} in a bar, {cube['4000']['ratio']} in a cube" in measured("wang2021-fig2")
    rates = two["1000"]["of dgemm"], two["2000"]["of dgemm"]
    assert "at {} of the rate of a matrix product with 1000 rows, and at {} with 2000".format(*rates) in measured("wang2021-fig4-dense")
    fills = [float(of[m]["fill"]) for m in ("2000", "4000") for of in (bar, cube)]
    assert "{:.2f} times (bar) and {:.2f} times (cube). With 4000 it is {:.2f} and {:.2f}".format(*fills) in measured("wang2021-sec43-fill")
    assert rows[0]["tets"] == "56448" and f"it is {rows[0]['ratio']} times as fast" in measured("wang2021-sec55-small")


def test_the_rivals_of_a_schur_complement():
    """If not, a rival is said to be slower than it was."""
    of = {row["solver"]: row for row in results("schur_rivals.csv")}

    def reached(name):
        return of[name]["iterations to 0.1"], of[name]["s to 0.1"]

    text = measured("wang2021-sec55")
    assert "inner solves took {} iterations and {} s".format(*reached("Schur 3")) in text
    assert "Whole factorisations {} and {} s".format(*reached("all anew")) in text
    assert "conjugate gradients {} and {} s".format(*reached("PCG 20")) in text
    counts = [reached(f"Schur {inner}")[0] for inner in (1, 3, 5, 20)]
    assert "{}, {}, {} and {} iterations with 1, 3, 5 and 20".format(*counts) in measured("wang2021-sec55-inner")
    two = of["two factors 1"]
    assert f"{two['error at the end']} of the error is left after {two['iterations']} iterations" in measured("wang2021-sec54-drag")


def test_contact_by_projections():
    """If not, a speed is claimed that was not reached, or one is called missed that was."""
    rows = results("projective_contact.csv")
    of = {row["method"]: row for row in rows}
    names = ("projections, direct", "projections, direct, weight 100", "projections, direct, quick", "projections, PCG, quick")
    full = min(float(row["to_1e-1"]) for row in rows if row["method"].startswith("full IPC"))
    ours, heavy, best, pcg = (float(of[name]["to_1e-1"]) for name in names)
    text = measured("lan2022-sec73-tenth")
    assert f"Full IPC takes {full:.2f} s, projections {ours:.2f} s" in text and f"weight of 100 they take {heavy:.2f} s" in text
    assert f"a round {best:.2f} s" in text and of[names[0]]["vertices"] == "20164"
    text = measured("lan2022-sec73-hundredth")
    assert f"{full / best:.1f} times as fast" in text and f"{float(of[names[2]]['error']):.2f} of the step apart" in text
    linear = [row for row in rows if row["rounds"] == "8" and row["to_1e-1"] != "nan"]
    assert {row["method"] for row in linear} <= {*names, "projections, PCG, blocks, quick"}
    assert f"a tenth of the error in {pcg:.2f} s" in measured("lan2022-sec73-linear")
    assert all(row["to_1e-2"] == "nan" for row in rows if not row["method"].startswith("full IPC"))
    fall, text = of["projections"], measured("lan2022-sec72-growth")  # of the largest
    assert f"takes {float(fall['rounds']):.1f} rounds" in text and f"to the power of {float(fall['exponent']):.2f}" in text
    assert f"to the power of {float(results('projective_pairs.csv')[-1]['exponent']):.2f}" in measured("lan2022-sec72-sheets")
