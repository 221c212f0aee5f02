"""The answer that a comparison measures from: the lowest minimum that was seen, and it says whose."""

import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

import pdgpu

SOLVERS = {
    "PD": pdgpu.ProjectiveDynamics(iterations=60),
    "VBD": pdgpu.VertexBlockDescent(iterations=60),
    "Newton": pdgpu.Newton(iterations=60),
}
pytestmark = pytest.mark.filterwarnings("ignore:tets. .* inverted")


def crumpled(seed=7):
    """A soft beam in a long step, from a random start: there are several minima, and Newton does not find the lowest from there."""
    mesh = pdgpu.shapes.beam((0.3, 0.1, 0.1), cells=(3, 1, 1))
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP.from_young(1e5, 0.3), density=1000.0).pin(mesh.points[:, 1] < 0.005)
    return scene, mesh.points + 0.3 * np.random.default_rng(seed).normal(size=mesh.points.shape)


@pytest.fixture(scope="module")
def lowered():
    scene, start = crumpled()
    with pytest.warns(RuntimeWarning, match="lower G") as caught:
        comparison = pdgpu.compare(scene, SOLVERS, dt=1 / 5, start=(start, None))
    return comparison, [str(each.message) for each in caught if "lower G" in str(each.message)]


def test_a_lower_minimum_becomes_the_answer(lowered):
    """If not, losses are negative, two thirds of a curve vanish from a logarithmic plot, and the rest looks superlinear."""
    comparison, (said,) = lowered
    assert said.startswith("reference: 'PD', from the given start and initialization=\"previous\", has a lower G at iteration ")
    assert "(Newton from the first guess)" in said and "several starts" in said
    assert comparison.reference_source.startswith("Newton from 'PD' at iteration ")
    assert comparison.reference_source in comparison.table() and comparison.reference_source in repr(comparison)
    least = min(record["incremental_potential"].min() for record in comparison.records.values())
    assert comparison.reference_potential <= least + 1e-12 * abs(least)
    for record in comparison.records.values():
        assert (record["relative_loss"] > -1e-12).all()
    # the errors are from the same answer: PD comes near to it, Newton stays at its own minimum
    assert comparison["PD"]["relative_error"][-1] < 1e-3 and comparison["Newton"]["relative_error"][-1] > 1e-2


def test_the_plot_says_whose_answer_it_is(lowered):
    """If not, a figure is read as distances from Newton's minimum."""
    comparison, _ = lowered
    axes = comparison.plot()
    assert any(comparison.reference_source in text.get_text() for text in axes.texts)
    plt.close(axes.figure)


def test_newton_from_several_starts_finds_the_lowest(lowered):
    """If not, there is no way to look for a lower minimum before the solvers run."""
    scene, start = crumpled()
    lower = lowered[0].reference
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "tets:")
        comparison = pdgpu.compare(scene, SOLVERS, dt=1 / 5, start=(start, None), reference=["newton", lower + 1e-4])
    assert comparison.reference_source == "Newton from reference[1]"
    assert comparison.reference_potential == pytest.approx(lowered[0].reference_potential, rel=1e-9)
    stacked = pdgpu.compare(scene, {"PD": SOLVERS["PD"]}, dt=1 / 5, start=(start, None), reference=np.stack([lower + 1e-4]))
    assert stacked.reference_source == "Newton from reference[0]"


def test_a_given_answer_that_is_not_the_lowest_is_replaced(lowered):
    """If not, an answer from another program makes every solver superlinear."""
    scene, start = crumpled()
    upper = lowered[0].positions["Newton"]
    with pytest.warns(RuntimeWarning, match=r"'PD', .* lower G .* than the reference \(as given\)"):
        comparison = pdgpu.compare(scene, SOLVERS, dt=1 / 5, start=(start, None), reference=upper)
    assert comparison.reference_potential == pytest.approx(lowered[0].reference_potential, rel=1e-9)


def test_an_unusual_reference_that_is_the_lowest_is_kept(lowered):
    """If not, a comparison goes on with another answer than it was given."""
    scene, start = crumpled()
    reference = lowered[0].reference
    again = pdgpu.compare(scene, SOLVERS, dt=1 / 5, start=(start, None), reference=reference)
    assert np.array_equal(again.reference, reference) and again.reference_source == "as given"


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ([], "reference: expected one start or more|reference: expected shape"),
        (["exact"], r"reference\[0\]: expected one of"),
        (["newton", np.zeros((1, 3))], r"reference\[1\]: expected shape \(16, 3\)"),
        (np.zeros((2, 1, 3)), r"reference\[0\]: expected shape \(16, 3\)"),
    ],
)
def test_starts_that_are_none_are_refused(reference, said):
    """If not, a slip is an error of the compiled module."""
    scene, start = crumpled()
    with pytest.raises(ValueError, match=said):
        pdgpu.compare(scene, SOLVERS, dt=1 / 5, start=(start, None), reference=reference)
