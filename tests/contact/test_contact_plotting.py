"""Pictures of contact show the numbers they are made of, and files carry them."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot
import meshio
import numpy as np
import pytest

import pdgpu
from pdgpu.plotting import draw_simulation
from pdgpu.viz.contact_plotting import draw_forces, plot_contact


@pytest.fixture(scope="module")
def simulation():
    grid = pdgpu.shapes.grid((1, 1), cells=(8, 8))
    scene = pdgpu.Scene()
    scene.add_shell(pdgpu.Mesh(grid.points[:, [0, 2, 1]] + [0, 0.51, 0], triangles=grid.triangles), pdgpu.Spring(3e2), density=0.2)
    scene.add_obstacle(pdgpu.Sphere((0.5, 0.2, 0.5), 0.3))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=30, tolerance=1e-8), dt=1 / 60, contact=pdgpu.BarrierContact(0.01))
    sim.step(9)
    sim.step(record=True)
    return sim


def test_panels_are_the_record(simulation):
    """If not, the plot of how contact converges shows something else."""
    record = simulation.last_step
    figure = record.plot_contact()
    lines = [line for axes in figure.axes for line in axes.get_lines() if len(line.get_xdata())]
    names = ("active_contacts", "contacts_entered", "contacts_left", "smallest_distance", "step_limit", "gradient_norm")
    for line, name in zip(lines, names, strict=True):
        values = np.where(np.isfinite(record[name]), record[name], np.nan)
        np.testing.assert_array_equal(line.get_ydata(), values)
        np.testing.assert_array_equal(line.get_xdata(), record["iteration"])
    both = plot_contact({"a": record, "b": record}, x="seconds")
    assert [text.get_text() for text in both.axes[0].get_legend().get_texts()] == ["acting", "entered", "left"]
    assert [text.get_text() for text in both.axes[-1].get_legend().get_texts()] == ["a", "b"]
    matplotlib.pyplot.close("all")
    with pytest.raises(ValueError, match="x: "):
        plot_contact(record, x="sec")


def test_friction_has_a_panel():
    """If not, what friction does while a step converges is not seen; where nothing rubs, the panel would be empty."""
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(1, 1, 1)), pdgpu.ARAP(1e5), density=1000.0, velocity=(0.5, 0.0, 0.0))
    scene.add_obstacle(pdgpu.Plane((0.0, -5e-4, 0.0), (0.0, 1.0, 0.0)))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=9), dt=1 / 100, contact=pdgpu.BarrierContact(1e-3, stiffness=1e5, friction=0.5))
    sim.step(record=True)
    record = sim.last_step
    assert record["friction_potential"].max() > 0.0
    figure = record.plot_contact()
    panel = [axes for axes in figure.axes if axes.get_ylabel().startswith("friction potential")]
    assert len(figure.axes) == 5 and len(panel) == 1
    np.testing.assert_array_equal(panel[0].get_lines()[0].get_ydata(), record["friction_potential"])
    matplotlib.pyplot.close("all")


def test_a_comparison_has_the_panels(simulation):
    solvers = {"direct": pdgpu.Newton(iterations=6), "pcg": pdgpu.Newton(iterations=6, linear=pdgpu.PCG())}
    cmp = pdgpu.compare(simulation._core.scene, solvers, start=(simulation.positions, None), dt=1 / 60, contact=pdgpu.BarrierContact(0.01))
    assert (cmp.records["direct"]["active_contacts"] > 0).all() and cmp.records["pcg"]["relative_loss"][-1] < 1e-6
    figure = cmp.plot_contact()
    assert len(figure.axes) == 5
    np.testing.assert_array_equal(figure.axes[0].get_lines()[1].get_ydata(), cmp.records["pcg"]["relative_loss"])
    many = plot_contact({str(k): cmp.records["pcg"] for k in range(12)}, x="seconds")
    assert [text.get_text() for text in many.legends[0].get_texts()] == [str(k) for k in range(12)]
    assert len({(line.get_color(), line.get_linestyle()) for line in many.axes[0].get_lines()}) == 12
    matplotlib.pyplot.close("all")


def test_losses_count_from_where_the_potential_is_finite():
    """A plate that has yet to push its way makes G infinite at its target; divided by that, every loss would read 0."""
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    mesh = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(2, 2, 2))
    scene.add_solid(mesh, pdgpu.ARAP(1e4), density=1000.0)
    scene.add_obstacle(pdgpu.Plane((0.0, -5e-4, 0.0), (0.0, 1.0, 0.0)), motion=lambda time: (np.eye(3), [0.0, 0.3 * time, 0.0]))
    contact = pdgpu.BarrierContact(1e-3, stiffness=1e5)
    record = pdgpu.compare(scene, {"a": pdgpu.Newton(iterations=60, tolerance=1e-9)}, dt=1 / 100, contact=contact).records["a"]
    behind, loss = record["behind"] > 0.0, record["relative_loss"]
    assert behind.any() and np.isinf(loss[behind]).any() and np.isfinite(loss[~behind]).all()
    assert loss[np.isfinite(loss)][0] == 1.0 and abs(loss[-1]) < 1e-8


def test_arrows_are_the_forces(simulation):
    """If not, the picture shows other forces than those that act."""
    pytest.importorskip("pyvista")
    forces = simulation.contact_forces()
    figure = matplotlib.pyplot.figure()
    axes = figure.add_subplot()
    draw_simulation(axes, simulation)
    scale = draw_forces(axes, forces)
    largest = np.linalg.norm(forces.forces, axis=1).max()
    assert scale * largest == pytest.approx(0.25 * np.linalg.norm(np.ptp(simulation.positions, axis=0)))
    pushed = np.flatnonzero(np.abs(forces.forces).max(axis=1) > 0.0)
    arrows = axes.collections[0].segments
    np.testing.assert_allclose(np.diff(arrows[: len(pushed)], axis=1)[:, 0], scale * forces.forces[pushed], rtol=0, atol=1e-12)
    assert draw_forces(axes, forces, scale=2e-3) == 2e-3 and len(axes.collections) == 2
    draw_forces(axes, forces[:0])
    figure.canvas.draw()
    matplotlib.pyplot.close("all")
    with pytest.raises(ValueError, match="scale: "):
        draw_forces(axes, forces, scale=0.0)


def test_fields_of_files(simulation, tmp_path):
    """If not, ParaView shows other forces than those that act."""
    forces = simulation.contact_forces()
    mesh = pdgpu.Mesh(simulation.positions, triangles=simulation.bodies[0].mesh.triangles)
    fields = {"contact_force": forces.forces, "pressure": np.nan_to_num(forces.pressure)}
    for name in ("f.vtu", "f.vtk"):
        mesh.write(tmp_path / name, fields=fields)
        found = meshio.read(tmp_path / name).point_data
        for key, values in fields.items():
            np.testing.assert_allclose(np.ravel(found[key]), values.ravel(), rtol=1e-12)
    with pytest.raises(ValueError, match="cannot hold fields"):
        mesh.write(tmp_path / "f.obj", fields=fields)
    with pytest.raises(ValueError, match=r"fields\['a'\]: expected shape"):
        mesh.write(tmp_path / "f.vtu", fields={"a": np.ones(3)})
    with pytest.raises(TypeError, match="fields: expected names"):
        mesh.write(tmp_path / "f.vtu", fields={1: np.ones(len(mesh.points))})
