"""Whichever contact a simulation has, the same calls run, record, film, write and save it, or say in a sentence why not."""

import matplotlib

matplotlib.use("Agg")
import meshio
import numpy as np
import pytest

import pdgpu
from pdgpu.plotting import animate

DISTANCE = 2e-3
CONTACTS = {
    "none": None,
    "barrier": pdgpu.BarrierContact(DISTANCE, stiffness=1e5),
    "penalty": pdgpu.PenaltyContact(DISTANCE, stiffness=1e3),
    "projective": pdgpu.ProjectiveContact(DISTANCE),
    "two-way": pdgpu.TwoWayContact(DISTANCE),
    "proxies": pdgpu.ProxyContact([0, 1, 2], stiffness=1e3),
}


def block_on_the_floor(contact):
    mesh = pdgpu.shapes.beam((0.1, 0.1, 0.1), cells=(2, 2, 2))
    scene = pdgpu.Scene()
    material = pdgpu.ARAP.from_young(1e5, 0.3)
    scene.add_solid(pdgpu.Mesh(mesh.points + [0.0, 1.5e-3, 0.0], tets=mesh.tets), material, density=1000.0, name="block")
    if contact is not None:
        scene.add_obstacle(pdgpu.Plane((0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), name="floor")
    sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=20), contact=contact, dt=0.01)
    sim.step()
    return scene, sim


def ran(scene, sim, folder):
    history = sim.run(0.03)
    assert len(history["time"]) == 4 and np.isfinite(history["total"]).all() and "contacts" in history.table()
    if sim.contact is not None and not isinstance(sim.contact, pdgpu.ProxyContact):
        assert (history["contacts"][1:] >= 1).all() and (np.abs(history["smallest_distance"][1:]) <= DISTANCE).all()


def wrote(scene, sim, folder):
    sim.write(folder / "state.vtu")
    force = meshio.read(folder / "state.vtu").point_data["contact_force"]
    assert np.isnan(force).all() if isinstance(sim.contact, pdgpu.TwoWayContact) else np.isfinite(force).all()


def recorded(scene, sim, folder):
    sim.run(0.02, callback=sim.record(folder / "film.pvd"))
    assert len(list(folder.glob("film_*.vtu"))) == 3


def filmed(scene, sim, path):
    pytest.importorskip("pyvista")
    history = animate(sim, path, 0.02, fps=100, size=(1.0, 1.0), dpi=50)
    assert path.stat().st_size > 0 and len(history["time"]) == 3


def filmed_as_mp4(scene, sim, folder):
    pytest.importorskip("imageio_ffmpeg")
    filmed(scene, sim, folder / "film.mp4")


def viewed(scene, sim, folder):
    pytest.importorskip("k3d")
    view = pdgpu.viewer(sim, "k3d")
    sim.run(0.02, callback=view)
    view.write(folder / "view.html")


def saved(scene, sim, folder):
    sim.save(folder / "state.npz")
    again = pdgpu.Simulation.load(folder / "state.npz")
    again.step()
    sim.step()
    assert np.array_equal(again.positions, sim.positions)


def taken_apart(scene, sim, folder):
    assert sim.snapshot(2).iteration == 2


def certified(scene, sim, folder):
    before = sim.positions
    sim.step()
    assert pdgpu.certify([before, sim.positions], scene, gap=False).clean or isinstance(
        sim.contact, pdgpu.PenaltyContact | pdgpu.ProxyContact
    )


def forces(scene, sim, folder):
    found = sim.contact_forces()
    assert len(found) >= 1 and (found.normal_force >= 0.0).all()


PATHS = {
    "run": ran,
    "write": wrote,
    "record": recorded,
    "gif": lambda scene, sim, folder: filmed(scene, sim, folder / "film.gif"),
    "mp4": filmed_as_mp4,
    "viewer": viewed,
    "save": saved,
    "snapshot": taken_apart,
    "certify": certified,
    "contact_forces": forces,
}
OWN_PAIRS = "contact: {} has pairs that depend on the solver"
REFUSED = {
    ("penalty", "snapshot"): OWN_PAIRS.format("PenaltyContact"),
    ("projective", "snapshot"): OWN_PAIRS.format("ProjectiveContact"),
    ("two-way", "snapshot"): OWN_PAIRS.format("TwoWayContact"),
    ("proxies", "snapshot"): OWN_PAIRS.format("ProxyContact"),
    ("none", "contact_forces"): "contact: this simulation has none",
    ("two-way", "contact_forces"): "contact: TwoWayContact has no forces",
    ("proxies", "contact_forces"): "contact: ProxyContact has springs and no pairs; proxies",
}


@pytest.mark.each_choice
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("contact", CONTACTS)
def test_every_contact_takes_the_ordinary_path(contact, path, tmp_path):
    """If not, a whole study breaks at its last line because of the contact it chose."""
    scene, sim = block_on_the_floor(CONTACTS[contact])
    if (contact, path) not in REFUSED:
        return PATHS[path](scene, sim, tmp_path)
    with pytest.raises(ValueError, match=REFUSED[contact, path]) as refused:
        PATHS[path](scene, sim, tmp_path)
    assert "\n" not in str(refused.value)
    return None


@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_a_film_that_fails_says_why(ending, tmp_path):
    """If not, the error is one of the writer of films, which has no frame, and the cause is hidden."""
    pytest.importorskip("pyvista")
    if ending == "mp4":
        pytest.importorskip("imageio_ffmpeg")
    _, sim = block_on_the_floor(None)
    np.from_dlpack(sim.device_positions)[0, 0] = np.nan
    with pytest.raises(ValueError, match="coordinate nan at row 0, column 0 is not finite"):
        animate(sim, tmp_path / f"film.{ending}", 0.02, bounds=((0, 0, 0), (1, 1, 1)))
    assert not list(tmp_path.iterdir())
