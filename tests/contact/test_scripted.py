"""Scenes as users script them: each run is right by a law that the solver does not use, or says that it is not."""

import dataclasses

import pytest
from scripted_runs import UNSAID, VERDICTS, Measure, course_of, run_scripted, verdict
from scripted_scenes import QUICK, SCENES, case_of, described, runs
from test_sweep_benchmarks import tiny_run

import pdgpu


def explained(found):
    said = "; ".join(found.statements) or "all steps say 'converged'"
    return f"{found.verdict}: {', '.join(found.failures)}. {said}"


def touches(case, found):
    """Whether the run shows anything of contact that reports its pairs."""
    return found.pairs > 0 or found.verdict == "refused" or case.contact is None or not case.forces


@pytest.mark.parametrize("scene", QUICK)
def test_a_scripted_scene_is_right(scene):
    """If it failed, a user would get another force, speed or position than the scene has, from a solver with enough iterations."""
    case = case_of(scene, 0)
    found = run_scripted(case)
    assert found.verdict == "right" and touches(case, found), explained(found)


@pytest.mark.stress
@pytest.mark.parametrize(("scene", "k"), [pytest.param(*run, id=f"{run[0]}-{run[1]}") for run in runs()])
def test_a_scripted_run_is_right_or_says_that_it_is_not(scene, k):
    """If it failed, a status would say "converged" of a motion, a force or an energy that contact has made up or lost."""
    case = case_of(scene, k)
    found = run_scripted(case)
    assert found.verdict not in UNSAID and touches(case, found), explained(found)
    assert k or (found.verdict == "right" and found.alarms == 0), explained(found)


@pytest.mark.parametrize("scene", [pytest.param(name, marks=[pytest.mark.stress] if k % 3 else []) for k, name in enumerate(QUICK)])
def test_the_check_of_a_scene_finds_forces_and_motions_that_are_off_by_a_fifth(scene):
    """If it failed, a scene would be called right whatever forces and motions came of it."""
    case = case_of(scene, 0)
    course = course_of(case)
    course.said = [""] * len(course.said)
    course.contact, course.elastic, course.v = 1.2 * course.contact, 1.2 * course.elastic, 0.8 * course.v
    course.x = course.x[0] + 0.8 * (course.x - course.x[0])
    assert verdict(case.check(course), course.said) in UNSAID


def test_only_the_steps_of_a_measure_can_excuse_it():
    """If it failed, one step at its iteration cap would excuse all that is wrong in the others."""
    said = ["iteration_cap", "", ""]
    right, wrong = Measure("weight", 1.0, 1.0, 0.1), Measure("weight", 700.0, 1.0, 0.1, steps=slice(1, 3))
    late = dataclasses.replace(wrong, late=True)
    assert verdict([right], said) == "right"
    assert verdict([right, dataclasses.replace(wrong, steps=None)], said) == "late and said"
    assert verdict([right, dataclasses.replace(late, steps=slice(0, 3))], said) == "late and said"
    assert verdict([right, late], said) == "late and unsaid"
    assert verdict([late, wrong], said) == "wrong and unsaid"
    assert verdict([Measure("speed", float("nan"), 1.0, 0.1)], ["", ""]) in UNSAID


def test_the_suite_has_every_contact_and_most_solvers():
    """If it failed, a contact or a solver would be left out of the suite, or a scene would have no run."""
    assert len(SCENES) == 36 and set(QUICK) <= SCENES.keys() and all(SCENES.values())
    cases = [case_of(*run) for run in runs()]
    contacts = {type(case.contact) for case in cases}
    assert contacts >= {
        *(pdgpu.BarrierContact, pdgpu.ProjectiveContact, pdgpu.TwoWayContact, pdgpu.PenaltyContact, pdgpu.ProxyContact),
    }
    solvers = {type(case.solver) for case in cases}
    assert solvers >= {
        *(pdgpu.Newton, pdgpu.QuasiNewton, pdgpu.VertexBlockDescent, pdgpu.BlockJacobi, pdgpu.GradientDescent),
        *(pdgpu.ProjectiveDynamics, pdgpu.NonlinearCG, pdgpu.ADMM),
    }
    assert all(all(described(case)[:1]) for case in cases)


@pytest.mark.slow
def test_the_benchmark_of_scripted_scenes_writes_its_table(tmp_path):
    """If it failed, the table of all scenes would stop, or its page would keep old figures."""
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- table -->\n\nold\n\n<!-- end -->\n\nafter\n")
    rows = tiny_run("scripted_contact", tmp_path / "scripted.csv", "--page", str(page))
    assert [row["scene"] for row in rows] == ["block resting", "slide along a plane"]
    assert all(row["verdict"] in VERDICTS for row in rows)
    assert all(int(row["steps"]) > 0 for row in rows), [row["statement"] for row in rows]
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text and "| block resting |" in text
