"""A motion or an observer that calls the simulation that asks it."""

import copy
import pickle
import threading

import numpy as np
import pytest

import pdgpu
from pdgpu.simulation.time_step import take_step
from pdgpu.viz.viewers import _shapes

BEAM = pdgpu.shapes.beam((0.4, 0.2, 0.2), cells=(2, 1, 1))
SHEET = pdgpu.shapes.grid((1.0, 1.0), cells=(4, 4))
MIDDLE = [[2, 7], [7, 12], [12, 17], [17, 22]]
# call(sim, path) of everything that is refused
CALLS = {
    "body_energies": lambda sim, path: sim.body_energies(),
    "contacts": lambda sim, path: sim.contacts(),
    "copy or pickle": lambda sim, path: copy.copy(sim),
    "copy or pickle ": lambda sim, path: copy.deepcopy(sim),
    "copy or pickle  ": lambda sim, path: pickle.dumps(sim),
    "cut": lambda sim, path: sim.cut("sheet", MIDDLE),
    "device_positions": lambda sim, path: sim.device_positions,
    "device_velocities": lambda sim, path: sim.device_velocities,
    "element_energies": lambda sim, path: sim.element_energies(),
    "element_forces": lambda sim, path: sim.element_forces("muscle"),
    "embedded": lambda sim, path: sim.embedded("skin"),
    "energies": lambda sim, path: sim.energies(),
    "external_forces": lambda sim, path: setattr(sim, "external_forces", np.ones((len(sim.masses), 3))),
    "forces": lambda sim, path: sim.forces(),
    "gradient": lambda sim, path: sim.gradient(),
    "incremental_potential": lambda sim, path: sim.incremental_potential(),
    "joint_forces": lambda sim, path: sim.joint_forces(),
    "momentum": lambda sim, path: sim.momentum(),
    "parameters": lambda sim, path: sim.parameters,
    "positions": lambda sim, path: sim.positions,
    "rigid": lambda sim, path: sim.rigid,
    "run": lambda sim, path: sim.run(0.1),
    "save": lambda sim, path: sim.save(path / "saved"),
    "set_shape_targets": lambda sim, path: sim.set_shape_targets("muscle", 1.1 * np.eye(3)),
    "set_state": lambda sim, path: sim.set_state(velocities=np.ones((len(sim.masses), 3))),
    "step": lambda sim, path: sim.step(),
    "step ": lambda sim, path: sim.step(3, record=True),
    "stress": lambda sim, path: sim.stress("muscle"),
    "surface": lambda sim, path: sim.surface(),
    "system_matrix": lambda sim, path: sim.system_matrix(),
    "velocities": lambda sim, path: sim.velocities,
    "write": lambda sim, path: sim.write(path / "written.vtu"),
}
OF_BARRIER = {
    "snapshot": lambda sim, path: sim.snapshot(),
    "contact_forces": lambda sim, path: sim.contact_forces(),
    "hessian": lambda sim, path: sim.hessian(),
    "smallest_eigenvalue": lambda sim, path: sim.smallest_eigenvalue(),
    "recoloured": lambda sim, path: sim.recoloured(np.zeros((0, 2), int)),
}
OF_PROXIES = {"proxies": lambda sim, path: sim.proxies()}
# what a step does not touch, or makes another simulation, or only prepares a call
FREE = {"bodies", "device_rows", "embeddings", "embedding_matrix", "load", "masses", "obstacles", "origin", "record", "time"}
FREE |= {"contact", "device", "dt", "dtype", "integrator", "last_step", "solver", "threads"}
MOTIONS = {
    "pin": "the motion of pin 0 of 'sheet'",
    "targets": "the targets of attachment 0 of 'muscle'",
    "frame": "the frame of attachment 0 of 'sheet'",
    "shape": "the shape targets of 'muscle'",
    "obstacle": "the motion of obstacle 'ball'",
    "mesh": "the motion of obstacle 'lid'",
}


class Motions:
    """The motions of a scene. One of them makes a call once, when the simulation asks it."""

    def __init__(self):
        self.which, self.call = None, None

    def asked(self, name):
        if name == self.which:
            call, self.call, self.which = self.call, None, None
            call()

    def points(self, name):
        def motion(time, rest):
            self.asked(name)
            return rest + [0.0, 0.02 * time, 0.0]

        return motion

    def placement(self, name):
        def motion(time):
            self.asked(name)
            return np.eye(3), np.array([0.0, 0.02 * time, 0.0])

        return motion

    def shape(self, time):
        self.asked("shape")
        return (1.0 + 0.1 * time) * np.eye(3)


def scene_of(motions, mesh=True):
    scene = pdgpu.Scene(gravity=(0.0, -1.0, 0.0))
    muscle = scene.add_solid(BEAM, pdgpu.ShapeTarget(1e4, motions.shape), density=500.0, name="muscle")
    muscle.attach([0, 1], motions.points("targets"), 100.0)
    muscle.embed([[0.1, 0.1, 0.1]], name="skin")
    sheet = scene.add_shell(
        pdgpu.Mesh(SHEET.points + [0.0, 0.0, 1.0], triangles=SHEET.triangles), pdgpu.Spring(50.0), density=0.2, name="sheet"
    )
    sheet.pin([0, 4], motion=motions.points("pin"))
    sheet.attach([20], frame=motions.placement("frame"), stiffness=10.0)
    scene.add_obstacle(pdgpu.Sphere((0.2, -1.0, 0.1), 0.2), motions.placement("obstacle"), name="ball")
    if mesh:
        lid = pdgpu.Mesh(SHEET.points + [0.0, 0.0, 3.0], triangles=SHEET.triangles)
        scene.add_obstacle(lid, motions.points("mesh"), name="lid")
    return scene


def simulation(contact):
    motions = Motions()
    scene = scene_of(motions, contact == "barrier")
    if contact == "barrier":
        solver, law = pdgpu.VertexBlockDescent(iterations=3), pdgpu.BarrierContact(0.02, stiffness=10.0)
    else:
        solver, law = pdgpu.ProjectiveDynamics(iterations=3), pdgpu.ProxyContact("skin", stiffness=100.0)
    sim = pdgpu.Simulation(scene, solver, dt=0.01, contact=law, threads=1)
    sim.step()
    return sim, motions


def condition(sim):
    """The state, and what calls change beside it."""
    state = sim._core.backend.state()
    arrays = [array.tobytes() for array in (*state.values(), sim._core.backend.driven()) if array is not None]
    return arrays, sim.time, sim.external_forces is None, sim.last_step, len(sim.masses)


CASES = [("barrier", motion, call) for motion in (*MOTIONS, "observer") for call in (*CALLS, *OF_BARRIER)]
CASES += [("proxies", motion, call) for motion in ("obstacle", "observer") for call in (*CALLS, *OF_PROXIES)]


@pytest.mark.each_choice
@pytest.mark.parametrize(("contact", "motion", "name"), CASES)
def test_what_a_step_asks_cannot_call_the_simulation(contact, motion, name, tmp_path):
    """If not, a step is taken within a step, from a state that is half that of the next."""
    sim, motions = simulation(contact)
    twin, call = simulation(contact)[0], (CALLS | OF_BARRIER | OF_PROXIES)[name]
    before, materials = condition(sim), [body.materials for body in sim.bodies]
    if motion == "observer":
        text, step = "the simulation is busy", lambda: take_step(sim._core, False, observer=lambda row: call(sim, tmp_path))
    else:
        motions.which, motions.call = motion, lambda: call(sim, tmp_path)
        text, step = f"^{name.strip()}: the simulation is busy: it is asking {MOTIONS[motion]}", sim.step
    with pytest.raises(RuntimeError, match=text):
        step()
    assert motion == "observer" or materials == [body.materials for body in sim.bodies]
    assert condition(sim) == before and motions.which is None and not list(tmp_path.iterdir())
    for each in (sim, twin):
        each.step()
    assert condition(sim)[:2] == condition(twin)[:2] and sim.time == pytest.approx(0.02)


def test_every_call_is_refused_or_free():
    """If not, a call that is new goes through from a motion, and no test says so."""
    refused = {name.strip() for name in CALLS | OF_BARRIER | OF_PROXIES} - {"copy or pickle"}
    assert {name for name in dir(pdgpu.Simulation) if not name.startswith("_")} == refused | FREE


ASKING = {
    "energies": ("frame", lambda sim: sim.energies()),
    "gradient": ("obstacle", lambda sim: sim.gradient()),
    "contacts": ("obstacle", lambda sim: sim.contacts()),
    "snapshot": ("pin", lambda sim: sim.snapshot()),
    "run": ("shape", lambda sim: sim.run(0.01)),
    "viewer": ("mesh", _shapes),
}


@pytest.mark.parametrize("name", ASKING)
def test_calls_that_ask_a_motion_are_in_progress_too(name):
    """If not, a step is taken while an energy is computed, or a picture is drawn."""
    sim, motions = simulation("barrier")
    before, (motion, ask) = condition(sim), ASKING[name]
    motions.which, motions.call = motion, sim.step
    with pytest.raises(RuntimeError, match=f"^step: the simulation is busy: it is asking {MOTIONS[motion]}"):
        ask(sim)
    assert condition(sim) == before


def test_a_cut_and_targets_that_are_set_are_in_progress_too():
    """If not, the step that a motion took while the model is built is lost with the model."""
    sim, motions = simulation("barrier")
    before = condition(sim)
    motions.which, motions.call = "mesh", sim.step
    with pytest.raises(RuntimeError, match=r"^step: the simulation is busy: it is asking the motion of obstacle 'lid'"):
        sim.cut("sheet", MIDDLE)
    with pytest.raises(RuntimeError, match=r"^set_state: the simulation is busy: it is asking the motion .*<lambda>"):
        sim.set_shape_targets("muscle", lambda time: sim.set_state(velocities=np.zeros((len(sim.masses), 3))))
    assert condition(sim) == before
    assert len(sim.cut("sheet", MIDDLE).new_vertices)
    sim.step()


def test_the_search_for_rho_is_in_progress_too():
    """If not, a motion steps the simulation in the midst of a search, which then begins from another state."""
    sims = []
    for _ in range(2):
        motions, scene = Motions(), pdgpu.Scene()
        scene.add_shell(SHEET, pdgpu.Spring(50.0), density=0.2, name="sheet").pin([0, 4], motion=motions.points("pin"))
        solver = pdgpu.ProjectiveDynamics(iterations=20, linear=pdgpu.Jacobi(weight=0.6), chebyshev=pdgpu.Chebyshev(start=3))
        sims.append(pdgpu.Simulation(scene, solver, dt=0.01, threads=1))
    motions.which, motions.call = "pin", sims[1].step
    with pytest.raises(RuntimeError, match=r"^step: the simulation is busy: it is asking the motion of pin 0 of 'sheet'"):
        sims[1].step()
    assert sims[1].time == 0.0 and sims[1].parameters["rho"] is None
    for sim in sims:
        sim.step(2)
    assert sims[0].positions.tobytes() == sims[1].positions.tobytes() and sims[0].parameters["rho"] == sims[1].parameters["rho"]


def test_another_thread_is_refused_while_a_motion_runs():
    """If not, two threads take one step together."""
    sim, motions = simulation("barrier")
    caught = []

    def elsewhere():
        try:
            sim.step()
        except RuntimeError as error:
            caught.append(str(error))

    def call():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    motions.which, motions.call = "pin", call
    sim.step()
    assert len(caught) == 1 and caught[0].startswith("step: the simulation is busy: it is asking the motion of pin 0 of 'sheet'")
    assert sim.time == pytest.approx(0.02)


def test_a_motion_may_step_another_simulation():
    """If not, what one simulation computes cannot drive another; and a circle of the two goes unnoticed."""
    (outer, of_outer), (inner, of_inner) = simulation("barrier"), simulation("barrier")
    of_outer.which, of_outer.call = "pin", inner.step
    outer.step()
    assert outer.time == inner.time == pytest.approx(0.02)
    of_outer.which, of_outer.call = "pin", inner.step
    of_inner.which, of_inner.call = "frame", outer.step
    with pytest.raises(RuntimeError, match=r"^step: the simulation is busy: it is asking the motion of pin 0 of 'sheet'"):
        outer.step()
    for each in (outer, inner):
        each.step()
    assert outer.time == inner.time == pytest.approx(0.03)
