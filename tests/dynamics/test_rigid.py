"""Rigid bodies: tops and pendulums against ODE solvers, momenta, derivatives, one minimiser for all solvers, files, what is refused."""

import copy
import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import pdgpu
from pdgpu import shapes

BOX = shapes.box((1.0, 0.6, 0.3))
SOLVERS = {"Newton": pdgpu.Newton(iterations=20), "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=10)}


TAKERS = {  # all that take rigid bodies, with the iterations that bring them to the answer
    "Newton": SOLVERS["Newton"],
    "VertexBlockDescent": pdgpu.VertexBlockDescent(iterations=150),
    "BlockJacobi": pdgpu.BlockJacobi(iterations=300),
    "GradientDescent": pdgpu.GradientDescent(iterations=600),
    "QuasiNewton": pdgpu.QuasiNewton(iterations=200),
    "Newton by conjugate gradients": pdgpu.Newton(iterations=40, linear=pdgpu.PCG()),
    "Newton by block-preconditioned ones": pdgpu.Newton(iterations=40, linear=pdgpu.PCG(preconditioner="block")),
    "Newton by polynomially preconditioned ones": pdgpu.Newton(iterations=40, linear=pdgpu.PCG(preconditioner="chebyshev")),
    "Newton by multilevel-preconditioned ones": pdgpu.Newton(iterations=40, linear=pdgpu.PCG(preconditioner="multilevel")),
    "Newton by ones on aggregates": pdgpu.Newton(iterations=40, linear=pdgpu.PCG(preconditioner="amg")),
}


def scene_of(mesh=BOX, gravity=(0.0, 0.0, 0.0), density=100.0, **motion):
    scene = pdgpu.Scene(gravity=gravity)
    return scene, scene.add_rigid(mesh, density=density, **motion)


def cross(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def turned(inertia, spin, seconds, arm=(0.0, 0.0, 0.0), weight=(0.0, 0.0, 0.0)):
    """Spin in the world and rotation after a time by Euler's equations about a point, the centre `arm` away from it, under a weight, N."""
    inverse = np.linalg.inv(inertia)

    def change(_, state):
        w, R = state[:3], state[3:].reshape(3, 3)
        torque = np.cross(arm, R.T @ weight)
        return np.r_[inverse @ (torque - np.cross(w, inertia @ w)), (R @ cross(w)).ravel()]

    start = np.r_[spin, np.eye(3).ravel()]
    end = solve_ivp(change, (0.0, seconds), start, rtol=1e-11, atol=1e-12).y[:, -1]
    R = end[3:].reshape(3, 3)
    return R @ end[:3], R


def inertia_of(body):
    return np.trace(body.second_moments) * np.eye(3) - body.second_moments


@pytest.mark.parametrize("name", SOLVERS)
def test_free_fall_is_that_of_implicit_euler(name):
    scene, body = scene_of(gravity=(0.0, -9.81, 0.0), velocity=(0.5, 0.0, 0.0), spin=(1.0, 0.0, 0.0))
    sim = pdgpu.Simulation(scene, SOLVERS[name], dt=0.01)
    sim.step(20)
    expected = body.centre + [0.5 * 0.2, -9.81 * 0.01**2 * 20 * 21 / 2, 0.0]
    np.testing.assert_allclose(sim.rigid.centres[0], expected, atol=1e-12)
    np.testing.assert_allclose(sim.positions, sim.rigid.centres[0] + body.arms @ sim.rigid.rotations[0].T, atol=1e-12)


@pytest.mark.parametrize("held", ["axis", "point"])
def test_pendulum_is_of_first_order(held):
    bar, seconds = shapes.box((1.0, 0.2, 0.2)), 0.2
    errors = []
    for dt in (2e-3, 1e-3):
        scene, body = scene_of(bar, gravity=(0.0, -9.81, 0.0))
        pins = [i for i, p in enumerate(body.points) if p[0] == 0.0 and p[1] == 0.2 and (held == "axis" or p[2] == 0.0)]
        assert len(pins) == (2 if held == "axis" else 1)
        body.pin(pins)
        arm, inertia = body.centre - body.points[pins[0]], inertia_of(body)
        if held == "axis":  # the torque of the axis keeps the rest
            arm[2] = 0.0
            inertia = np.diag([1e12, 1e12, inertia[2, 2]])
        inertia = inertia + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=dt)
        sim.step(round(seconds / dt))
        _, R = turned(inertia, np.zeros(3), seconds, arm, np.array([0.0, -9.81 * body.mass, 0.0]))
        errors.append(Rotation.from_matrix(sim.rigid.rotations[0] @ R.T).magnitude())
        np.testing.assert_array_equal(sim.positions[pins], body.points[pins])
        assert np.abs(sim.rigid.gradient[0, :3]).max() == 0.0
    assert errors[1] < 0.02
    assert 1.85 < errors[0] / errors[1] < 2.15


@pytest.mark.slow
def test_heavy_top_precesses():
    """A fast disc on a stick: precession m g L / (I w), in the plane; h w = 0.01 as the specification has it."""
    disc = shapes.sphere(0.1, 2)
    mesh = pdgpu.Mesh(np.array(disc.points) * [0.1, 1.0, 1.0] + [0.3, 0.0, 0.0], triangles=disc.triangles)
    pivoted = pdgpu.Mesh(np.concatenate([mesh.points, np.zeros((1, 3))]), triangles=mesh.triangles)
    spin, seconds = 60.0, 0.05
    scene, body = scene_of(pivoted, gravity=(0.0, -9.81, 0.0), density=1000.0, spin=(spin, 0.0, 0.0), velocity=(0.0, 0.0, 0.0))
    body.pin([len(mesh.points)])
    arm = body.centre.copy()
    inertia = inertia_of(body) + body.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    _, R = turned(inertia, [spin, 0.0, 0.0], seconds, arm, np.array([0.0, -9.81 * body.mass, 0.0]))
    errors = []
    for dt in (2e-4, 1e-4):
        sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=dt)
        sim.step(round(seconds / dt))
        errors.append(np.abs(sim.rigid.centres[0] - R @ arm).max())
    assert errors[1] < 1e-3 and 1.8 < errors[0] / errors[1] < 2.2


def stiff_scene():
    """One on springs of which a corner is over a wall, and one held in a point; a bar and a cloth beside them."""
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    first = scene.add_rigid(BOX, density=500.0, spin=(1.0, 2.0, 3.0), name="first")
    first.attach([0, 5], first.points[[0, 5]] + [0.1, 0.3, 0.0], stiffness=2e4)
    bar = scene.add_solid(shapes.beam((0.4, 0.1, 0.1), cells=(4, 1, 1)), pdgpu.NeoHookean.from_young(1e5, 0.3), density=1000.0, name="bar")
    bar.pin(lambda points: points[:, 0] < 0.01)
    scene.add_shell(shapes.grid((0.3, 0.3), cells=(3, 3)), pdgpu.Spring(1e3), density=0.2, name="cloth")
    second = scene.add_rigid(shapes.sphere(0.2, 1), density=300.0, velocity=(0.0, 0.0, 0.0), name="second")
    second.pin([3])
    scene.set_world_box((-1.0, -0.02, -1.0), (2.0, 3.0, 2.0), 1e5)
    return scene


def test_gradient_is_that_of_the_potential():
    sim = pdgpu.Simulation(stiff_scene(), SOLVERS["Newton"], dt=0.01)
    sim.step(3)
    x, rigid, gradient = sim.positions, sim.rigid, sim.rigid.gradient
    assert np.abs(gradient[0]).min() > 1e-3 and np.abs(sim.gradient()[sim.bodies[0].slice]).max() == 0.0
    for k, name in enumerate(rigid.names):
        rows = next(body.slice for body in sim.bodies if body.name == name)
        about = rigid.centres[k] if k == 0 else x[rows][3]

        def at(move, rows=rows, about=about, k=k):
            there = x.copy()
            there[rows] = about + (x[rows] - about) @ Rotation.from_rotvec(move[3:]).as_matrix().T + (move[:3] if k == 0 else 0.0)
            return sim.incremental_potential(there)

        steps = 1e-5 * np.eye(6)
        numbers = [(at(step) - at(-step)) / 2e-5 for step in steps]
        np.testing.assert_allclose(gradient[k], numbers, rtol=1e-5, atol=1e-6 * np.abs(numbers).max())


def test_newton_converges_quadratically():
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    first = scene.add_rigid(BOX, density=500.0, spin=(1.0, 2.0, 3.0))
    first.attach([0, 5], first.points[[0, 5]] + [0.1, 0.3, 0.0], stiffness=2e4)
    second = scene.add_rigid(shapes.sphere(0.2, 1), density=300.0, spin=(3.0, 1.0, 0.0))
    second.attach([7], second.points[[7]] + [0.0, 0.1, 0.2], stiffness=1e4)
    second.pin([3])
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=12, initialization="previous"), dt=0.03)
    sim.step(2)
    sim.step(record=True)
    norms = sim.last_step["gradient_norm"]
    assert sim.last_step.status == "converged" and sim.last_step.at_rounding
    # 1.5e4, 3.5e2, 1.8, 4e-6, 9e-12: without the curvature of rotations it is linear
    assert norms[3] < 1e-4 * norms[2] and norms[4] < 1e-10 * norms[0]


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.stress)])
def test_solvers_agree(dtype):
    scene = stiff_scene()
    exact = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=0.01)
    exact.step(5)
    for name, solver in TAKERS.items():
        sim = pdgpu.Simulation(scene, solver, dt=0.01, dtype=dtype)
        sim.step(5)
        np.testing.assert_allclose(sim.positions, exact.positions, atol=1e-9 if dtype == "float64" else 2e-5, err_msg=name)


def test_potential_falls_in_every_iteration():
    for solver in (
        pdgpu.VertexBlockDescent(iterations=20, initialization="previous"),
        pdgpu.Newton(iterations=20, initialization="previous"),
        pdgpu.Newton(iterations=20, initialization="previous", linear=pdgpu.PCG(iterations=3)),
        pdgpu.QuasiNewton(iterations=20, initialization="previous"),
        pdgpu.QuasiNewton(iterations=20, initialization="previous", history=0),
    ):
        sim = pdgpu.Simulation(stiff_scene(), solver, dt=0.02)
        for _ in range(4):
            sim.step(record=True)
            potential = sim.last_step["incremental_potential"]
            assert (np.diff(potential) <= 1e-12 * np.abs(potential).max()).all()


def test_same_bits_of_threads_copies_files_and_cuts(tmp_path):
    for solver in (pdgpu.QuasiNewton(), pdgpu.Newton(linear=pdgpu.PCG(iterations=5)), *SOLVERS.values()):
        sims = [pdgpu.Simulation(stiff_scene(), solver, dt=0.01, threads=threads) for threads in (1, 2)]
        for sim in sims:
            sim.step(3)
        sims[0].save(tmp_path / "rigid.npz")
        sims += [copy.copy(sims[0]), pickle.loads(pickle.dumps(sims[0])), pdgpu.Simulation.load(tmp_path / "rigid.npz")]
        for sim in sims:
            sim.step(3)
        for other in sims[1:]:
            np.testing.assert_array_equal(other.positions, sims[0].positions)
            np.testing.assert_array_equal(other.velocities, sims[0].velocities)
    before = {body.name: sims[0].positions[body.slice] for body in sims[0].bodies}
    cloth = next(body for body in sims[0].bodies if body.name == "cloth")
    assert len(sims[0].cut("cloth", cloth.mesh.hinges[:2, :2]).new_vertices) > 0
    second = next(body for body in sims[0].bodies if body.name == "second")
    np.testing.assert_array_equal(sims[0].positions[second.slice], before["second"])
    sims[0].step()
    sims[1].step()
    np.testing.assert_allclose(sims[0].positions[second.slice], sims[1].positions[sims[1].bodies[-1].slice], atol=1e-12)


def test_order_and_units_of_bodies_do_not_matter():
    def built(order, length=1.0):
        scene = pdgpu.Scene(gravity=(0.0, -9.81 * length, 0.0))
        for k in order:
            mesh = shapes.box(np.array([0.3, 0.2, 0.1]) * length)
            body = scene.add_rigid(mesh, density=(k + 1.0) * 100.0 / length**3, spin=(k, 1.0, 2.0), name=f"b{k}")
            body.attach([k], body.points[[k]] + [0.0, 0.1 * length, 0.0], stiffness=1e3)
        sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=0.01)
        sim.step(10)
        return {body.name: sim.positions[body.slice] for body in sim.bodies}

    expected, other, larger = built([0, 1, 2]), built([2, 0, 1]), built([0, 1, 2], 1000.0)
    for name, x in expected.items():
        np.testing.assert_allclose(other[name], x, atol=1e-12)
        np.testing.assert_allclose(larger[name] / 1000.0, x, atol=1e-9)


def test_forces_and_torques_act_from_outside():
    scene, body = scene_of(shapes.box((0.5, 0.5, 0.5)))
    sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=1e-3)
    forces = np.zeros((len(sim.masses), 3))
    forces[:8] = np.cross([0.0, 0.0, 4.0], body.arms[:8]) + [1.0, 0.0, 0.0]
    torque = np.cross(body.arms[:8], forces[:8]).sum(axis=0)
    sim.external_forces = forces
    sim.step(1)
    np.testing.assert_allclose(sim.rigid.velocities[0], forces.sum(axis=0) / body.mass * 1e-3, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(sim.rigid.spins[0], np.linalg.solve(inertia_of(body), torque) * 1e-3, rtol=1e-5, atol=1e-12)


def test_a_body_held_whole_goes_where_its_pins_go():
    scene, body = scene_of(gravity=(0.0, -9.81, 0.0))

    def motion(time, points):
        return points @ Rotation.from_rotvec([0.0, 0.0, 3.0 * time]).as_matrix().T + [time, 0.0, 0.0]

    body.pin([0, 1, 2, 5], motion)
    sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=0.01)
    sim.step(10)
    np.testing.assert_allclose(sim.positions, motion(0.1, body.points), atol=1e-12)

    scene, body = scene_of()
    body.pin([0, 1, 2, 5], lambda time, points: points * (1.0 + time))
    sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=0.01)
    with pytest.raises(ValueError, match=r"motion of 'rigid0': vertices of the rigid body 'rigid0' are .* m off its shape"):
        sim.step()


def test_a_pin_that_moves_takes_the_body_along():
    scene, body = scene_of(gravity=(0.0, -9.81, 0.0))
    body.pin([0], lambda time, points: points + [np.sin(5.0 * time), 0.0, 0.0])
    sim = pdgpu.Simulation(scene, SOLVERS["VertexBlockDescent"], dt=0.005)
    sim.step(60)
    np.testing.assert_allclose(sim.positions[0], body.points[0] + [np.sin(1.5), 0.0, 0.0], atol=1e-14)
    x, rigid = sim.positions, sim.rigid
    np.testing.assert_allclose(x, rigid.centres[0] + body.arms @ rigid.rotations[0].T, atol=1e-12)


def test_more_than_half_a_turn_in_a_step_works_and_warns():
    scene, body = scene_of(spin=(0.0, 0.0, 400.0))
    sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=0.01)
    with pytest.warns(RuntimeWarning, match="'rigid0' turns by 4 rad in a step"):
        sim.step(3)
    x, rigid = sim.positions, sim.rigid
    np.testing.assert_allclose(x, rigid.centres[0] + body.arms @ rigid.rotations[0].T, atol=1e-12)
    np.testing.assert_allclose(rigid.spins[0], [0.0, 0.0, 400.0], atol=1e-9)


def test_mass_of_a_body():
    scene, body = scene_of(density=250.0)
    assert body.mass == pytest.approx(250.0 * 0.18, rel=1e-14)
    arms = body.hidden_points() - body.centre
    np.testing.assert_allclose(body.mass / 4 * arms.T @ arms, body.second_moments, atol=1e-15)
    np.testing.assert_allclose(np.diag(body.second_moments), body.mass * np.array([1.0, 0.36, 0.09]) / 12, rtol=1e-12)
    solid = scene.add_rigid(shapes.beam((1.0, 0.6, 0.3), cells=(3, 2, 1)), density=250.0)
    np.testing.assert_allclose(solid.second_moments, body.second_moments, atol=1e-13)


def turned_inside_out():
    return pdgpu.Mesh(BOX.points, triangles=np.array(BOX.triangles)[:, ::-1])


REFUSED = {
    "open": (lambda scene: scene.add_rigid(shapes.grid((1, 1), cells=(2, 2)), density=1.0), ValueError, "the surface is open"),
    "inverted": (lambda scene: scene.add_rigid(turned_inside_out(), density=1.0), ValueError, "normals point inwards"),
    "density": (lambda scene: scene.add_rigid(BOX, density=0.0), ValueError, "density"),
    "no triangles": (lambda scene: scene.add_rigid(shapes.chain(3), density=1.0), ValueError, "needs triangles or tets"),
    "no mesh": (lambda scene: scene.add_rigid(3, density=1.0), TypeError, "mesh"),
    "slide": (lambda scene: scene["body"].slide([0], line=(1, 0, 0)), ValueError, "slide: the rigid body 'body'"),
    "a vertex of the mass": (lambda scene: scene["body"].pin([8]), ValueError, "index 8"),
    "masses": (lambda scene: setattr(scene["body"], "masses", 1.0), ValueError, "density"),
    "quasistatic": (lambda scene: pdgpu.Simulation(scene, pdgpu.Newton(), dt=None), ValueError, "dt: None"),
    "extrapolation": (
        lambda scene: pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(chebyshev=pdgpu.Chebyshev(rho=0.5, start=2))),
        ValueError,
        "chebyshev",
    ),
    "bent": (
        lambda scene: pdgpu.Simulation(scene, pdgpu.Newton()).set_state(positions=scene["body"].points * 1.1),
        ValueError,
        "positions: vertices of the rigid body 'body' are",
    ),
    "bending": (
        lambda scene: pdgpu.Simulation(scene, pdgpu.Newton()).set_state(
            velocities=scene["body"].points * scene["body"].points[:, [1, 2, 0]]
        ),
        ValueError,
        "velocities: vertices of the rigid body 'body' are",
    ),
    "system matrix": (lambda scene: pdgpu.Simulation(scene, pdgpu.Newton()).system_matrix(), ValueError, "'body' is one; hessian"),
    "cut": (lambda scene: pdgpu.Simulation(scene, pdgpu.Newton()).cut("body", [[0, 1]]), ValueError, "only a shell can be cut"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    scene = pdgpu.Scene()
    scene.add_rigid(BOX, density=1.0, name="body")
    attempt, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        attempt(scene)


def test_a_state_of_float32_goes_into_float64():
    """If not, `compare`, which measures in float64, refuses the state that a simulation in float32 has come to."""
    scene, _ = scene_of(velocity=(1.0, 0.0, 0.0), spin=(0.2, 3.0, 0.3))
    single = pdgpu.Simulation(scene, SOLVERS["Newton"], dtype="float32")
    single.step(10)
    start = (single.positions, single.velocities)
    double = pdgpu.Simulation(scene, SOLVERS["Newton"], dtype="float64")
    double.set_state(positions=start[0], velocities=start[1])
    double.step()
    arms = double.bodies[0].arms
    np.testing.assert_allclose(double.positions, double.rigid.centres[0] + arms @ double.rigid.rotations[0].T, atol=1e-12)
    assert pdgpu.compare(scene, SOLVERS, start=start).records.keys() == SOLVERS.keys()
    with pytest.raises(ValueError, match="positions: vertices of the rigid body 'rigid0' are"):
        double.set_state(positions=start[0].astype(np.float64))
    with pytest.raises(ValueError, match="positions: vertices of the rigid body 'rigid0' are"):
        double.set_state(positions=start[0] * np.float32(1.01))


def test_solvers_that_do_not_take_rigid_bodies_say_so():
    scene, _ = scene_of()
    able = ", ".join(kind.__name__ for kind in pdgpu.solvers.SOLVERS if kind.__name__ in TAKERS) + " do"
    assert able == "Newton, VertexBlockDescent, BlockJacobi, GradientDescent, QuasiNewton do"
    for kind in pdgpu.solvers.SOLVERS:
        if kind.__name__ in TAKERS:
            continue
        with pytest.raises(TypeError, match=f"{kind.__name__} does not take rigid bodies, and 'rigid0' is one; {able}"):
            pdgpu.Simulation(scene, kind())


def test_stiff_elastic_box_comes_to_the_rigid_one():
    """With the mass and the moments of its lumped vertices, on springs at two corners: their distance falls with the stiffness, down to
    the damping of a spin by implicit Euler, which the rigid one has not and which falls with the time step."""
    mesh, spin = shapes.beam((0.4, 0.3, 0.2), cells=(2, 2, 2)), np.array([1.0, 2.0, 3.0])
    corners = [0, len(mesh.points) - 1]
    targets = np.array([[-0.1, 0.2, 0.0], [0.5, 0.4, 0.2]])

    def corners_after(build, dt=4e-3):
        scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
        body, where = build(scene)
        body.attach(where, targets, stiffness=500.0)
        sim = pdgpu.Simulation(scene, SOLVERS["Newton"], dt=dt)
        sim.step(round(0.1 / dt))
        return sim.positions[where]

    def elastic(young):
        def build(scene):
            body = scene.add_solid(mesh, pdgpu.NeoHookean.from_young(young, 0.3), density=1000.0)
            middle = body.masses @ body.points / body.masses.sum()
            body.velocity = np.cross(spin, body.points - middle)
            return body, corners

        return build

    def rigid(scene):
        masses = pdgpu.Scene().add_solid(mesh, pdgpu.ARAP(1.0), density=1000.0).masses
        middle = masses @ mesh.points / masses.sum()
        arms = mesh.points - middle
        squares, axes = np.linalg.eigh(arms.T @ (masses[:, None] * arms) / masses.sum())
        axes[:, 2] *= np.linalg.det(axes)
        size = np.sqrt(12.0 * squares)
        box = shapes.box(tuple(size))
        points = np.concatenate([(box.points - 0.5 * size) @ axes.T + middle, mesh.points[corners]])
        body = scene.add_rigid(pdgpu.Mesh(points, triangles=box.triangles), density=masses.sum() / size.prod(), spin=spin)
        return body, [8, 9]

    expected = corners_after(rigid)
    off = [np.abs(corners_after(elastic(young)) - expected).max() for young in (1e6, 1e7, 1e8)]
    assert off[0] < 2e-3 and off[1] < 0.5 * off[0] and off[2] < 0.5 * off[0]
    finer = np.abs(corners_after(elastic(1e8), 2e-3) - corners_after(rigid, 2e-3)).max()
    assert 0.4 < finer / off[2] < 0.6
