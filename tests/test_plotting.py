"""Pictures show the numbers they are made of."""

import inputs
import matplotlib

matplotlib.use("Agg")
import numpy as np
import pytest
import scenes

import pdgpu


@pytest.fixture(scope="module")
def comparison():
    points, tets = inputs.kuhn_grid(6, 2, 2, 0.1)
    scene, _ = scenes.bar((points, tets), 1e4)
    solvers = {"direct": scenes.DIRECT, "diverging": pdgpu.ProjectiveDynamics(iterations=600, linear=pdgpu.Jacobi(weight=2.5))}
    return pdgpu.compare(scene, solvers, start=(points * [1.4, 1.0, 1.0], None))


@pytest.mark.parametrize("x", ["iterations", "seconds"])
@pytest.mark.parametrize("y", ["relative_loss", "relative_error", "gradient_norm"])
def test_curves_are_the_records(comparison, x, y):
    """If not, the plot shows something else than the table."""
    axes = comparison.plot(x=x, y=y)
    line = axes.get_lines()[0]
    record = comparison["direct"]
    np.testing.assert_array_equal(line.get_xdata(), record["iteration" if x == "iterations" else "seconds"])
    shown = np.asarray(line.get_ydata())
    np.testing.assert_array_equal(shown[np.isfinite(shown)], record[y][record[y] > 0])
    assert axes.get_yscale() == "log" and [text.get_text() for text in axes.get_legend().get_texts()] == ["direct", "diverging"]
    assert comparison["diverging"].status == "diverged" and axes.get_ylim()[1] <= 1e3 * record[y][0]


def test_unknown_axes_are_refused(comparison):
    """If not, a slip gives an empty plot."""
    with pytest.raises(ValueError, match="y: expected one of"):
        comparison.plot(y="energy")
