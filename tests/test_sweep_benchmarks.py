"""The benchmarks of sweeps over vertices run through."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def tiny_run(name, out, *options):
    """What a benchmark writes of tiny sizes, by rows."""
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), "--tiny", "--out", str(out), *options]
    result = subprocess.run(command, capture_output=True, text=True, cwd=BENCHMARKS, timeout=120)
    assert result.returncode == 0, result.stderr
    lines = out.read_text().splitlines()
    assert any("tiny" in line for line in lines if line.startswith("#"))
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def test_stored_collision_queries_are_complete():
    """If not, the script of the queries does not run, or its table lacks batches or has a contact that was missed."""
    command = [sys.executable, str(BENCHMARKS / "ccd_queries.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and "complete and nothing missed" in result.stdout, result.stderr


def test_materials_are_compared_in_every_case(tmp_path):
    """A comparison of materials would stop, leave a case out, or count iterations that never end."""
    rows = tiny_run("vertex_block_descent_materials", tmp_path / "materials.csv")
    assert len(rows) == 13
    sweeps = [row for row in rows if row["solver"] == "VertexBlockDescent"]
    assert all(row["G grew"] == "0" and 2 < int(row["iterations to 0.001"]) < 40 for row in sweeps)


def test_damping_is_measured_in_every_case(tmp_path):
    """What damping costs would be told of fewer materials than it is."""
    rows = tiny_run("damping", tmp_path / "damping.csv")
    assert [row["material"] for row in rows] == ["NeoHookean", "ARAP", "Corotated", "StVK", "Spring"]
    assert all(float(row["damped ms"]) > 0.0 for row in rows)


def test_every_solver_ends_in_float32_at_what_rounding_leaves(tmp_path):
    """Corrections below the rounding of a coordinate would be lost, and a solver stop ten times as far from the answer as it could."""
    rows = tiny_run("float32_floor", tmp_path / "floor.csv")
    assert len(rows) == 13
    for row in rows:
        assert float(row["float64"]) < 1e-13, row
        assert float(row["float32"]) < 3.0 * float(row["rounded"]), row


def test_contact_is_measured_in_every_run(tmp_path):
    """The share of contact would be of a scene in which nothing touches, or a run would be left out."""
    rows = tiny_run("contact_descent", tmp_path / "descent.csv")
    assert len(rows) == 24 and all(float(row["seconds"]) > 0.0 for row in rows)
    touching = [row for row in rows if row["scene"].startswith("blocks")]
    assert len(touching) == 16 and all((int(row["pairs"]) > 0) == (row["run"] != "without") for row in touching)


def test_grains_are_counted_and_kept_apart(tmp_path):
    """The cost of a grain would be of a heap in which none touches, or in which they lie in each other."""
    rows = tiny_run("grains", tmp_path / "grains.csv")
    assert [row["scene"] for row in rows] == ["grains"] * 6 + ["hairs"] * 2
    assert all(int(row["pairs"]) > int(row["bodies"]) / 2 and float(row["seconds"]) > 0.0 and row["met"] == "0" for row in rows)
    assert all(float(row["nearest mm"]) > (2.0 if row["scene"] == "grains" else 1.0) for row in rows)


@pytest.mark.stress
def test_contact_at_equal_stretch_is_as_stretched_as_that(tmp_path):
    """Methods would be compared of which one lets the cloth grow, or one that lets it through the ball."""
    rows = [row for row in tiny_run("contact_at_equal_stretch", tmp_path / "stretch.csv") if row["seconds"]]
    assert {"full IPC", "projective IPC", "two-way after PD"} <= {row["method"] for row in rows}
    assert all(1.0 < float(row["stretch"]) <= 1.05 and row["intersections"] == "0" and float(row["gap mm"]) > 0.0 for row in rows)


@pytest.mark.stress
def test_the_two_way_method_is_verified_after_every_solver(tmp_path):
    """A row would be of no update, or say that nothing met where nothing was verified."""
    rows = tiny_run("two_way_never_intersects", tmp_path / "never.csv")
    assert [row["solver"] for row in rows] == ["PD", "Newton"]
    assert all(row["updates"] == "2" and row["intersections"] == "0" and int(row["rows"]) > 0 for row in rows)


def test_lengths_of_the_two_way_method_are_compared(tmp_path):
    """A ratio would be of updates of which one did not end, or of one and the same."""
    rows = tiny_run("two_way", tmp_path / "two_way.csv")
    assert len(rows) == 3 and all(row["unfinished"] == "0" and float(row["seconds"]) > 0.0 for row in rows)
    assert rows[0]["forward ratio"] == "1.00" and rows[0]["steps"] != rows[1]["steps"]
    forward, pairs, ours = (
        float(rows[2]["forward ms"]),
        float(rows[2]["pairs ms"]),
        [float(rows[0][part]) for part in ("pairs ms", "forward ms")],
    )
    assert float(rows[2]["scheme ratio"]) == pytest.approx(forward / sum(ours), abs=0.02)
    assert float(rows[2]["with pairs ratio"]) == pytest.approx((pairs + forward) / sum(ours), abs=0.02)


def test_orders_of_vertices_are_compared_at_every_size(tmp_path):
    """What a mesh gains from another order would be measured on other bodies, or not at all."""
    rows = tiny_run("vertex_order", tmp_path / "order.csv", "--finer", "1")
    assert len(rows) == 18
    assert {row["tets"] for row in rows} == {"120", "960"}
    large = {row["order"]: float(row["sectors/row"]) for row in rows if row["tets"] == "960"}
    assert large["along the curve"] < large["as read"] < large["mixed"]


def test_anderson_acceleration_is_measured_with_every_method(tmp_path):
    """If not, a table of the documentation leaves out a method, or compares it with another run."""
    rows = tiny_run("anderson", tmp_path / "anderson.csv")
    assert len(rows) == 2 * 19 + 11 and {row["acceleration"] for row in rows} == {"none", "Chebyshev", "Anderson 5", "Anderson 10"}
    assert all(float(row["last"]) < 1.0 for row in rows if row["method"] == "PD")


def test_filters_of_the_hessian_are_compared_in_every_case(tmp_path):
    """If not, a table of the documentation has a filter that ran another step, or none."""
    rows = tiny_run("hessian_filters", tmp_path / "filters.csv")
    assert len(rows) == 12 and {row["hessian"] for row in rows} == {"auto", "clamp", "absolute", "adaptive"}
    assert all(row["to 0.01"] != "-" for row in rows)
    rows = tiny_run("hessian_filters", tmp_path / "blocks.csv", "--blocks")
    assert len(rows) == 2 * 3 * 3 * 4 and {row["hessian"] for row in rows} == {"auto", "clamp", "absolute", "exact"}
    assert len({row["potential"] for row in rows}) > 30


def test_preconditioners_are_compared_on_every_system(tmp_path):
    """If not, iterations of the documentation are those of another matrix, or of none."""
    rows = tiny_run("multilevel", tmp_path / "multilevel.csv")
    assert len(rows) == 2 * 2 * (4 + 5 + 5) and {row["system"] for row in rows} == {"PD", "Newton", "contact"}
    assert all(int(row["iterations"]) > 1 for row in rows)
    counts = {(row["system"], row["vertices"], row["contrast"], row["preconditioner"]): int(row["iterations"]) for row in rows}
    for (system, vertices, contrast, name), count in counts.items():
        # AMG gains nothing in contact with few vertices and no contrast, and rounding decides
        most = 1.1 if (system, vertices, contrast, name) == ("contact", "72", "1", "amg") else 0.95
        assert name not in ("multilevel", "amg") or count < most * counts[system, vertices, contrast, "jacobi"]


@pytest.mark.stress
def test_violent_contact_is_measured_in_every_case(tmp_path):
    """A build would be compared with another one at another state."""
    chosen = ("--scenes", "cloths on sphere", "--iterations", "4", "--other", sys.executable)
    rows = tiny_run("violent_contact", tmp_path / "violent.csv", *chosen)
    assert [row["threads"] for row in rows] == ["1", "2"] and all(float(row["seconds"]) > 0.0 for row in rows)
    assert len({row["sum"] for row in rows} | {row["other sum"] for row in rows}) == 1


def test_layers_of_cloth_are_measured_and_verified(tmp_path):
    """If not, a step of many layers has no figure, or one of layers that pass through each other."""
    rows = tiny_run("layers_of_cloth", tmp_path / "layers.csv", "--threads", "1")
    assert [row["layers"] for row in rows] == ["2"] and rows[0]["vertices"] == "98"
    assert float(rows[0]["s/step"]) > 0.0 and rows[0]["intersections"] == "0"


@pytest.mark.stress
def test_the_linear_solvers_of_a_cloth_in_contact_end_at_the_tolerance(tmp_path):
    """If not, the benchmark of full IPC steps compares runs that end at different distances from the answer."""
    rows = tiny_run("ipc_cloth", tmp_path / "cloth.csv")
    assert [row["program"] for row in rows] == ["Newton, direct", "Newton, auto", "Newton, PCG"]
    assert all(float(row["relative"]) <= 1e-3 and int(row["iterations"]) > 0 for row in rows)
    assert {row["lowest"] for row in rows} == {rows[0]["lowest"]}


def test_scenes_with_known_answers_are_measured(tmp_path):
    """Bars at a step of 4 ms and a wave of dominoes; in tiny runs the ball is too coarse to roll."""
    rows = [row for row in tiny_run("rigid_scenes", tmp_path / "scenes.csv") if row["engine"].startswith("pdgpu")]
    assert [row["scene"] for row in rows] == ["bars", "plank", "dominoes"]
    assert float(rows[0]["error"]) < 0.07 and 0.5 < float(rows[2]["value"]) < 1.0


@pytest.mark.stress
def test_heaps_of_rigid_boxes_are_measured_and_kept_apart(tmp_path):
    """The time of a step would be of boxes that are in the air, or that lie in each other."""
    rows = tiny_run("rigid_heap", tmp_path / "heap.csv")
    assert [row["bodies"] for row in rows] == ["8", "8", "27", "27"]
    assert all(float(row["pairs"]) > 100 and float(row["seconds"]) > 0.0 and row["met"] == "0" for row in rows)
    assert all(0.0 < float(row["gap mm"]) < 4.0 for row in rows)
