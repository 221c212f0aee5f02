"""Viewers: what they are given to show. What they make of it is looked at by people."""

import subprocess
import sys

import numpy as np
import pytest

import pdgpu
from pdgpu.viz import viewers


@pytest.fixture
def sim():
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.shapes.beam((0.4, 0.2, 0.2), cells=(2, 1, 1)), pdgpu.ARAP(1e4), density=1000.0, name="block")
    chain = pdgpu.shapes.chain(4)
    scene.add_rod(pdgpu.Mesh(chain.points + [0.0, 0.5, 0.0], edges=chain.edges), pdgpu.Spring(100.0), density=0.1, name="rod")
    scene.add_particles([[0.0, 1.0, 0.0]], mass=1.0, name="dust")
    scene.add_obstacle(pdgpu.Plane((0.0, -1.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    scene.add_obstacle(pdgpu.Segments([[0.0, -0.5, 0.0], [1.0, -0.5, 0.0]], [[0, 1]]), name="wire")
    scene.add_obstacle(pdgpu.Points([[0.0, -0.6, 0.0], [1.0, -0.6, 0.0]]), name="tips")
    return pdgpu.Simulation(scene, pdgpu.Newton(iterations=2), dt=0.01, contact=pdgpu.BarrierContact(1e-3))


def test_a_plot_moves_as_the_simulation_did(sim, tmp_path):
    """If not, what is looked at is not what was computed."""
    pytest.importorskip("k3d")
    view, seen = pdgpu.viewer(sim, "k3d"), {}

    def frame(sim):
        view(sim)
        seen[str(sim.time)] = sim.positions

    sim.run(0.03, callback=frame)
    assert len(view) == 4 and view.times == pytest.approx([0.0, 0.01, 0.02, 0.03])
    shown = {part.name: part for part in view.plot().objects}
    assert set(shown) == {"block", "rod", "dust", "floor", "wire", "tips"}
    block = sim.bodies[0]
    assert set(shown["block"].vertices) == set(seen) and np.array_equal(shown["block"].indices, block.mesh.surface)
    for time, x in seen.items():
        np.testing.assert_allclose(shown["block"].vertices[time], x[block.slice], rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(shown["dust"].positions[time], x[-1:], rtol=0.0, atol=1e-6)
    assert view._repr_mimebundle_()
    view.write(tmp_path / "v.html")
    text = (tmp_path / "v.html").read_text()
    assert text.lstrip().lower().startswith("<!doctype html>") and 'src="http' not in text and len(text) > 100_000
    with pytest.raises(ValueError, match=r"ends in \.html"):
        view.write(tmp_path / "v.png")


def test_what_is_shown_moves_with_every_frame(sim):
    """If not, whoever watches a run in a notebook sees its first frame until it is over."""
    pytest.importorskip("k3d")
    view, sent = pdgpu.viewer(sim, "k3d"), []
    shown = view.plot()
    parts = {part.name: part for part in shown.objects}
    parts["block"].observe(lambda change: sent.append(change["new"]), "vertices")
    camera = list(shown.camera)
    for _ in range(3):
        sim.step()
        view()
        for part, x in (("block", parts["block"].vertices), ("rod", parts["rod"].vertices), ("dust", parts["dust"].positions)):
            body = next(body for body in sim.bodies if body.name == part)
            np.testing.assert_allclose(x, sim.positions[body.slice], rtol=0.0, atol=1e-6)
    assert len(sent) == 3 and shown.camera == camera
    assert len(view.plot().objects[0].vertices) == 4 and view.plot() is not shown and view.plot() is view.plot()
    # what leaves the picture makes the camera step back, in the direction it was turned
    shown = view.plot()
    shown.camera = [4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    sim.set_state(positions=sim.positions + [0.0, 50.0, 0.0])
    view(sim)
    eye, target = np.array(shown.camera[:3]), np.array(shown.camera[3:6])
    away = eye - target
    assert away[0] > 40.0 and abs(away[1:]).max() < 1e-9 * away[0] and 20.0 < target[1] < 40.0


def test_a_film_has_a_slider(sim, monkeypatch):
    """If not, the time of a film is to be found in a menu."""
    pytest.importorskip("k3d")
    import ipywidgets

    view, links = pdgpu.viewer(sim, "k3d"), []
    monkeypatch.setattr(ipywidgets, "jslink", lambda *ends: links.append(ends))
    assert view._repr_mimebundle_() and not links
    sim.run(0.02, callback=view)
    assert view._repr_mimebundle_()
    [((slider, value), (plot, time))] = links
    assert (value, time) == ("value", "time") and plot is view.plot() and (slider.min, slider.max) == (0.0, view.times[-1])


def test_a_window_leaves_no_files(tmp_path):
    """If not, every folder from which somebody has looked at a simulation has two files of settings more."""
    pytest.importorskip("polyscope")
    code = """
import polyscope, pdgpu
start = polyscope.init
polyscope.init = lambda: start("openGL_mock")
polyscope.show = lambda: None
scene = pdgpu.Scene()
scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
pdgpu.viewer(pdgpu.Simulation(scene), "polyscope").show()
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=100)
    assert not list(tmp_path.iterdir())


def test_a_window_shows_every_frame(sim, monkeypatch):
    """If not, the slider of the window moves and nothing else does."""
    polyscope = pytest.importorskip("polyscope")
    view, slider, moved = pdgpu.viewer(sim, "polyscope"), [], {}
    sim.run(0.02, callback=view)
    polyscope.set_use_prefs_file(False)
    polyscope.init("openGL_mock")

    def show():
        assert polyscope.has_surface_mesh("block") and polyscope.has_curve_network("rod") and polyscope.has_point_cloud("dust")
        block = polyscope.get_surface_mesh("block")
        monkeypatch.setattr(type(block), "update_vertex_positions", lambda mesh, x: moved.update({mesh.get_name(): x}))
        slider[0]()

    monkeypatch.setattr(polyscope, "show", show)
    monkeypatch.setattr(polyscope, "set_user_callback", slider.append)
    monkeypatch.setattr(polyscope.imgui, "SliderInt", lambda label, at, low, high: (True, high))
    view.show()
    np.testing.assert_allclose(moved["block"], sim.positions[sim.bodies[0].slice], rtol=0.0, atol=1e-6)
    assert len(view) == 3 and not polyscope.has_surface_mesh("block")
    with pytest.raises(RuntimeError, match="backend='k3d'"):
        view.plot()


@pytest.mark.parametrize("backend", ["k3d", "polyscope"])
def test_a_viewer_that_is_not_installed_is_named(sim, backend, monkeypatch):
    """If not, who has no viewer reads of a module, and not what to install."""
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ImportError, match=rf"{backend} is not installed: pip install {backend}$"):
        pdgpu.viewer(sim, backend)
    with pytest.raises(ValueError, match="backend"):
        pdgpu.viewer(sim, "paraview")


def test_it_opens_at_the_present(sim, tmp_path):
    """If not, the first look at a run is at its start, and looks as if nothing had happened."""
    pytest.importorskip("k3d")
    view = pdgpu.viewer(sim, "k3d")
    sim.run(0.03, callback=view)
    assert view.plot().time == view.times[-1] == pytest.approx(0.03)
    slider = next(each for each in viewers._with_slider(view.plot(), view.times).children if hasattr(each, "min"))
    assert (slider.min, slider.value, slider.max) == (0.0, view.times[-1], view.times[-1])
