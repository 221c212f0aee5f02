"""Results in notebooks and in figures: tables as HTML, one colour for each method, bands over several runs, files of vectors."""

import html.parser
import re

import inputs
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scenes
from matplotlib.colors import to_hex

import pdgpu
from pdgpu.viz import plotting
from pdgpu.viz.curve_styles import curve_styles

SOLVERS = {"PD": pdgpu.ProjectiveDynamics(iterations=12), "Newton": pdgpu.Newton(iterations=5)}


def compared(seed=0, **options):
    scene, body = scenes.bar(inputs.K10(), 1e5)
    start = scenes.stretched_and_twisted(np.array(body.points))
    start += 0.01 * np.random.default_rng(seed).normal(size=start.shape)
    return pdgpu.compare(scene, SOLVERS, dt=1 / 50, start=(start, None), **options)


@pytest.fixture(scope="module")
def comparison():
    return compared()


class Cells(html.parser.HTMLParser):
    """Rows of the cells of a table."""

    def __init__(self, text):
        super().__init__()
        self.rows, self._open = [], []
        self.feed(text)
        assert not self._open, self._open

    def handle_starttag(self, tag, attributes):
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, text):
        if self._open and self._open[-1] in ("td", "th"):
            self.rows[-1][-1] += text


def row(**case):
    return {"value": case["a"], "note": f"<b>{case['a']}"}


def shown(comparison):
    sim = pdgpu.Simulation(scenes.bar(inputs.K10(), 1e5)[0], dt=0.01)
    return {
        "comparison": comparison,
        "rates": comparison.rates(),
        "record": comparison["PD"],
        "step": sim.step(record=True),
        "history": sim.run(0.02),
        "sweep": pdgpu.sweep(row, {"a": [1, 2]}),
        "capabilities": pdgpu.capabilities(),
    }


def test_notebooks_show_the_same_table_as_html(comparison):
    """If not, a notebook shows monospaced text, or other numbers than the terminal."""
    for name, each in shown(comparison).items():
        cells, text = Cells(each._repr_html_()), repr(each)
        assert len(cells.rows) >= 2 and len({len(line) for line in cells.rows}) == 1, name
        for cell in (cell for line in cells.rows for cell in line):
            assert cell in text, (name, cell)
    assert "&lt;b&gt;1" in shown(comparison)["sweep"]._repr_html_()  # text stays text
    unrecorded = pdgpu.Simulation(scenes.bar(inputs.K10(), 1e5)[0], dt=0.01)
    unrecorded.step()
    assert "no rows recorded" in unrecorded.last_step._repr_html_()


def test_capabilities_are_a_matrix():
    """If not, who takes what is a page of nested lists."""
    able = pdgpu.capabilities()
    head, *lines = Cells(able._repr_html_()).rows
    assert head == ["", *able]
    taken = {line[0]: dict(zip(head[1:], line[1:], strict=True)) for line in lines}
    for solver, entry in able.items():
        for section in ("materials", "linear", "contacts", "devices"):
            yes = {name.partition(": ")[2] for name, by in taken.items() if name.startswith(section) and by[solver] == "yes"}
            assert yes == set(entry[section])


def colours(axes):
    return {line.get_label(): to_hex(line.get_color()) for line in axes.get_lines() if not line.get_label().startswith("_")}


def test_a_method_has_one_colour_in_all_figures(comparison):
    """If not, the red curve of one figure is another method in the next."""
    scene, body = scenes.bar(inputs.K10(), 1e5)
    start = (scenes.stretched_and_twisted(np.array(body.points)), None)
    others = {"a method of one's own": pdgpu.VertexBlockDescent(iterations=3), "Newton": SOLVERS["Newton"]}
    first, second = comparison.plot(), pdgpu.compare(scene, others, dt=1 / 50, start=start).plot()
    contact = comparison.plot_contact()
    assert colours(first)["Newton"] == colours(second)["Newton"] == colours(contact.axes[0])["Newton"]
    assert colours(first)["PD"] == colours(contact.axes[0])["PD"]
    for axes in (first, second):
        assert len(set(colours(axes).values())) == 2
    plt.close("all")


def test_curves_of_a_figure_are_told_apart():
    """If not, two methods of a figure look the same."""
    names = [f"method {k}" for k in range(40)]
    for chosen in (names[:14], names[20:], names):
        looks = [(style["color"], style["linestyle"]) for style in curve_styles(chosen).values()]
        assert len(set(looks)) == len(chosen)
    assert curve_styles(names[5:6])[names[5]]["color"] == curve_styles(names)[names[5]]["color"]


def test_without_a_reference_the_gradient_norm_is_drawn():
    """If not, plot() of a comparison without a reference raises."""
    axes = compared(reference=None).plot()
    assert axes.get_ylabel().startswith("gradient norm")
    with pytest.raises(ValueError, match="needs a reference"):
        compared(reference=None).plot(y="relative_loss")
    plt.close("all")


# ---- several runs ----------------------------------------------------------------------------------------------------------------


def test_a_band_holds_the_quartiles():
    """If not, the spread over starts is another one than the figure says."""
    runs = [compared(seed) for seed in range(5)]
    whole = pdgpu.Comparison.concat(runs, labels=[f"seed {k}" for k in range(5)])
    assert len(whole) == 10 and len(whole.methods()["PD"]) == 5 and "PD (seed 3)" in whole.table()
    axes = whole.plot(band="quartiles")
    line = next(line for line in axes.get_lines() if line.get_label() == "PD")
    values = np.array([run["PD"]["relative_loss"] for run in runs])
    np.testing.assert_array_equal(line.get_xdata(), np.arange(13))
    np.testing.assert_array_equal(line.get_ydata(), np.quantile(values, 0.5, axis=0, method="nearest"))
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == np.quantile(values[:, -1], 0.25, method="nearest")
    assert len(axes.get_legend().get_texts()) == 2
    assert len({to_hex(line.get_color()) for line in whole.plot().get_lines()}) == 2  # ten curves of two methods
    whole.plot("seconds", band="quartiles").figure.canvas.draw()
    pytest.importorskip("pandas")
    frame = whole.to_dataframe()
    assert set(frame.solver) == {"PD", "Newton"} and set(frame.label) == {f"seed {k}" for k in range(5)}
    plt.close("all")


def test_a_run_that_diverged_is_infinite_in_a_band():
    """If not, the median of runs that diverge is that of the few that did not."""
    scene, body = scenes.bar(inputs.kuhn_grid(6, 2, 2, 0.1), 1e4)
    bad = {"j": pdgpu.ProjectiveDynamics(iterations=600, linear=pdgpu.Jacobi(weight=2.5))}
    good = {"j": pdgpu.ProjectiveDynamics(iterations=600)}
    start = (np.array(body.points) * [1.4, 1.0, 1.0], None)
    runs = [pdgpu.compare(scene, solvers, dt=1 / 30, start=start) for solvers in (bad, bad, good)]
    axes = pdgpu.Comparison.concat(runs).plot(band="quartiles")
    assert runs[0]["j"].status == "diverged" and not np.isfinite(axes.get_lines()[0].get_ydata()[-1])
    plt.close("all")


def test_concatenations_that_make_no_sense_are_refused(comparison):
    """If not, two runs have one name, and one of them is lost."""
    for arguments, error, words in (
        (([],), ValueError, "expected one or more"),
        (([comparison, 3],), TypeError, "expected a Comparison at 1, got 3"),
        (([comparison, comparison], ["a", "a"]), ValueError, "expected 2 different ones"),
        (([comparison, comparison], ["a"]), ValueError, "expected 2 different ones"),
        (([pdgpu.Comparison.concat([comparison, comparison])],), ValueError, "is a concatenation"),
    ):
        with pytest.raises(error, match=words):
            pdgpu.Comparison.concat(*arguments)
    with pytest.raises(ValueError, match="band: expected one of"):
        comparison.plot(band="range")


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_figures_are_written_as_vectors_too(comparison, ending, tmp_path):
    """If not, a figure of a paper is a picture of pixels, or its letters are outlines."""
    path = tmp_path / f"convergence.{ending}"
    plotting.save_convergence(comparison, path)
    data = path.read_bytes()
    assert data.startswith({"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[ending])
    if ending == "svg":
        assert re.search(r"<text[^>]*>[^<]*Newton", data.decode())


# ---- words -----------------------------------------------------------------------------------------------------------------------


def test_one_is_singular():
    """If not, every table of a short run reads "1 rows"."""
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=1))
    texts = [repr(scene), repr(scene.bodies[0]), repr(sim), repr(sim.step(record=True)), repr(sim.run(0.01))]
    texts += [repr(pdgpu.Mesh([[0, 0, 0], [1, 0, 0]], edges=[[0, 1]])), repr(pdgpu.compare(scene, {"PD": pdgpu.ProjectiveDynamics()}))]
    texts.append(repr(pdgpu.sweep(row, {"a": [1]})))
    for text in texts:
        assert not re.search(r"\b1 (\w+s|vertices|bodies)\b", text.splitlines()[0]), text
    assert "1 vertex" in repr(sim) and "after 1 iteration," in texts[3] and "2 rows" in texts[3]
