"""Iterations: counts, acceleration, stopping, records, and the same bits every time."""

import dataclasses
import pickle

import inputs
import numpy as np
import pytest
import scenes

import pdgpu
from pdgpu.results.records import COLUMNS
from pdgpu.study import evaluator, reference

MU = 1e5 / 2.6


def reference_run(solver, mesh=None, dt=1 / 30, mu=MU):
    """Relative gradient norms from the stretched and twisted bar, first guess y."""
    points, tets = mesh or inputs.B20()
    scene, _ = scenes.bar((points, tets), mu, gravity=(0.0, -9.81, 0.0))
    sim = pdgpu.Simulation(scene, solver, dt=dt)
    held = sim._core.fixed == 1
    x = scenes.stretched_and_twisted(points)
    x[held] = points[held]
    sim.set_state(positions=x)
    sim.step(record=True)
    norms = sim.last_step["gradient_norm"]
    return norms / norms[0]


def first_crossings(relative, levels=(1e-1, 1e-2, 1e-3, 1e-4)):
    """The first iteration at or below each level, -1 where it is not reached."""
    return [int(np.argmax(relative <= level)) if (relative <= level).any() else -1 for level in levels]


def check_counts(solver, counts, **options):
    found = first_crossings(reference_run(solver, **options))[: len(counts)]
    for a, b in zip(found, counts, strict=True):
        assert abs(a - b) <= max(3, 0.1 * b), (found, counts)


@pytest.mark.parametrize(
    ("solver", "counts"),
    [
        (pdgpu.ProjectiveDynamics(iterations=120), (2, 20, 53, 87)),
        (pdgpu.ProjectiveDynamics(iterations=60, chebyshev=pdgpu.Chebyshev(rho=0.933)), (2, 13, 20, 26)),
        (pdgpu.ProjectiveDynamics(iterations=220, linear=pdgpu.Jacobi(weight=1.0)), (189,)),
        (
            pdgpu.ProjectiveDynamics(iterations=160, linear=pdgpu.Jacobi(weight=1.0), chebyshev=pdgpu.Chebyshev(rho=0.997)),
            (34, 63, 96, 121),
        ),
    ],
    ids=["direct", "direct + Chebyshev", "Jacobi", "Jacobi + Chebyshev"],
)
def test_iteration_counts_of_the_bar(solver, counts):
    """If not, the method converges at another rate than Projective Dynamics does."""
    check_counts(solver, counts)


def test_damped_jacobi_is_the_formula():
    """If not, the global step is another iteration than d <- d + w D^-1 (r - A d), with Chebyshev inside it or not."""
    points, tets = inputs.kuhn_grid(4, 2, 2, 0.2)
    scene, _ = scenes.bar((points, tets), 1e4)
    for chebyshev in (None, pdgpu.Chebyshev(rho=0.9, start=2)):
        for sweeps in (1, 2, 3, 4, 7):
            linear = pdgpu.Jacobi(weight=0.6, iterations=sweeps, chebyshev=chebyshev)
            sim = pdgpu.Simulation(scene, pdgpu.ProjectiveDynamics(iterations=1, linear=linear, initialization="previous"), dt=1 / 30)
            x = scenes.stretched_and_twisted(points)
            sim.set_state(positions=x)
            A, free = sim.system_matrix(free=True), sim._core.fixed == 0
            r = -sim.gradient()[free]
            d = previous = np.zeros_like(r)
            omega = 1.0
            for k in range(sweeps):
                if chebyshev and k >= chebyshev.start:
                    omega = 2 / (2 - 0.81) if k == chebyshev.start else 4 / (4 - 0.81 * omega)
                hat = d + 0.6 * (r - A @ d) / A.diagonal()[:, None]
                d, previous = omega * (hat - previous) + previous, d
            sim.step()
            np.testing.assert_allclose((sim.positions - x)[free], d, atol=1e-13)


def test_record_has_the_columns_of_the_contract():
    """If not, notebooks that read records break."""
    scene, x = scenes.mixed()
    sim = pdgpu.Simulation(scene, scenes.DIRECT)
    sim.set_state(positions=x)
    sim.step(record="positions")
    record = sim.last_step
    assert tuple(record) == COLUMNS and record.status == "iteration_cap" and record.iteration == 8
    assert all(values.dtype == np.float64 and len(values) == 9 for values in record.values())
    assert record["iteration"].tolist() == list(range(9)) and record["seconds"][0] == 0.0 and record["step_norm"][0] == 0.0
    assert (np.diff(record["seconds"]) > 0).all() and record.setup_seconds > 0
    steps = np.linalg.norm((record.positions[1:] - record.positions[:-1]).reshape(8, -1), axis=1)
    np.testing.assert_allclose(record["step_norm"][1:], steps, rtol=1e-9)
    np.testing.assert_array_equal(record.positions[-1], sim.positions)
    sim.step()
    assert len(sim.last_step) == 0 and sim.last_step.status == "iteration_cap"


def test_recorded_numbers_are_those_of_the_diagnostics():
    """If not, the plotted potential is not the one `incremental_potential` returns."""
    scene, x = scenes.mixed(damping=0.01)
    sim = pdgpu.Simulation(scene, dataclasses.replace(scenes.DIRECT, initialization="previous"))
    sim.set_state(positions=x)
    other = pdgpu.Simulation(scene, scenes.DIRECT)
    other.set_state(positions=x)
    sim.step(record="positions")
    for k, at in enumerate(sim.last_step.positions):
        assert sim.last_step["incremental_potential"][k] == pytest.approx(other.incremental_potential(at), rel=1e-10)
        assert sim.last_step["gradient_norm"][k] == pytest.approx(np.linalg.norm(other.gradient(at)), rel=1e-8)


def test_recording_changes_no_bit():
    """If not, a recorded run is another run."""
    scene, x = scenes.mixed()
    results = []
    for record in (False, True, "positions"):
        sim = pdgpu.Simulation(scene, scenes.CHEBYSHEV)
        sim.set_state(positions=x)
        sim.step(3, record=record)
        results.append(sim.positions.tobytes())
    assert results[0] == results[1] == results[2]


def test_compare_returns_what_diverged():
    """If not, one bad solver spoils the comparison of all."""
    points, tets = inputs.J10()
    scene, _ = scenes.bar((points, tets), 1e7 / 2.6)
    bad = pdgpu.ProjectiveDynamics(iterations=2000, linear=pdgpu.Jacobi(weight=1.9))
    comparison = pdgpu.compare(scene, {"bad": bad, "good": scenes.DIRECT}, start=(points * [1.5, 1.0, 1.0], None))
    assert comparison["bad"].status == "diverged" and comparison["good"].status == "iteration_cap"
    assert comparison["good"]["relative_loss"][-1] < 0.1
    assert len(comparison["bad"]["iteration"]) == comparison["bad"].iteration + 1 < 2001


def test_comparison_by_its_definitions(tmp_path):
    """If not, relative loss and error are not what the axes of the plot say."""
    scene, _ = scenes.bar(inputs.B20(), MU)
    x = scenes.stretched_and_twisted(inputs.B20()[0])
    solvers = {"direct": scenes.DIRECT, "newton": pdgpu.Newton(iterations=20)}
    comparison = pdgpu.compare(scene, solvers, start=(x, None))
    sim = pdgpu.Simulation(scene, scenes.DIRECT)
    sim.set_state(positions=x)
    star = comparison.reference
    G0, Gs = sim.incremental_potential(x), sim.incremental_potential(star)
    assert np.linalg.norm(sim.gradient(star)) <= 1e-10 * np.linalg.norm(sim.gradient(x))
    record, last = comparison["direct"], comparison.positions["direct"]
    assert record["relative_loss"][0] == 1.0 and record["relative_error"][0] == 1.0
    assert record["relative_loss"][-1] == pytest.approx((sim.incremental_potential(last) - Gs) / (G0 - Gs), rel=1e-9)
    norm = [np.sqrt(np.sum(sim.masses[:, None] * d**2)) for d in (last - star, x - star)]
    assert record["relative_error"][-1] == pytest.approx(norm[0] / norm[1], rel=1e-9)
    assert comparison["newton"]["relative_error"][-1] < 1e-12
    # a given reference and an array give the same
    again = pdgpu.compare(scene, {"direct": scenes.DIRECT}, start=(x, None), reference=comparison.reference)
    np.testing.assert_array_equal(again["direct"]["relative_loss"], record["relative_loss"])
    path = tmp_path / "c.csv"
    comparison.to_csv(path)
    lines = path.read_text().splitlines()
    run = "solver,status,at_rounding,dt,device,dtype,vertices,pinned,elements,materials,contact,setup_seconds"
    names = "iteration,seconds,incremental_potential,gradient_norm,step_norm,relative_loss,relative_error"
    contact = "contact_potential,friction_potential,active_contacts,contacts_entered,contacts_left,smallest_distance"
    clocks = "stagnations,culling_seconds,ccd_seconds,projection_seconds"
    counts = "potentials,gradients,hessians,products,factorizations,solves,projections,sweeps,searches,ccd_pairs,launches,waits"
    assert lines[0] == f"{run},{names},direction_seconds,advance_seconds,{contact},step_limit,outer,behind,held_back,{clocks},{counts}"
    assert len(lines) == 1 + sum(len(r["iteration"]) for r in comparison.records.values())
    assert "newton" in comparison.table()


def test_comparison_that_starts_at_the_answer():
    """If not, 0/0 becomes NaN in the table."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_particles([[0.0, 0.0, 0.0]], mass=1.0)
    comparison = pdgpu.compare(scene, {"direct": scenes.DIRECT})
    assert comparison["direct"]["relative_loss"][-1] == 0.0 and comparison["direct"]["relative_error"][-1] == 0.0


def test_comparison_on_stiff_cloth():
    """If not, the reference of a stiff scene is refused for what double precision cannot do, and the comparison with it."""
    scene = pdgpu.Scene()
    cloth = scene.add_shell(pdgpu.shapes.grid((1.0, 1.0), cells=(20, 20)), pdgpu.Spring(1e7), density=0.2, bending=1e-4)
    cloth.pin([0, 20])
    comparison = pdgpu.compare(scene, {"PD": scenes.DIRECT, "Newton": pdgpu.Newton(iterations=50)}, dt=1 / 100)
    record = comparison["Newton"]
    assert record.status == "converged" and record.at_rounding and record["relative_error"][-1] <= 1e-9
    assert 0.0 < comparison["PD"]["relative_loss"][-1] < 1.0
    row = next(line for line in comparison.table().splitlines() if line.startswith("Newton"))
    assert row.split()[1:3] == ["converged", "yes"]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("material", [pdgpu.ARAP(1e6), pdgpu.NeoHookean(1e6, 1e7), pdgpu.StVK(1e6, 1e7)])
def test_comparison_that_starts_at_rest(material, dtype):
    """If not, a scene at rest has no comparison, or rounding over rounding in its columns."""
    scene = pdgpu.Scene(gravity=scenes.NO_GRAVITY)
    scene.add_solid(pdgpu.shapes.beam((1, 0.25, 0.25), cells=(8, 2, 2)), material, density=1000.0)
    able = [name for name, entry in pdgpu.capabilities().items() if type(material).__name__ in entry["materials"]]
    solvers = {name: getattr(pdgpu, name)(iterations=5) for name in able if name not in ("XPBD", "PBD")}
    comparison = pdgpu.compare(scene, solvers, dtype=dtype)
    assert len(comparison) == len(solvers)
    for name, record in comparison.records.items():
        assert not record["relative_loss"].any() and not record["relative_error"].any(), name


def test_comparison_says_who_leaves_the_answer():
    """If not, a solver that moves a body at rest looks as good as one that leaves it alone."""
    scene = pdgpu.Scene()  # a weight on a spring, in equilibrium
    rod = scene.add_rod(pdgpu.Mesh([[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]], edges=[[0, 1]]), pdgpu.Spring(100.0), density=1.0)
    rod.pin([0])
    start = ([[0.0, 0.0, 0.0], [0.0, -1.0 - 0.5 * 9.81 / 100.0, 0.0]], None)
    comparison = pdgpu.compare(scene, {"Newton": pdgpu.Newton(), "PBD": pdgpu.PBD(iterations=1)}, start=start)
    assert not comparison["Newton"]["relative_error"].any() and not comparison["Newton"]["relative_loss"].any()
    assert comparison["PBD"]["relative_error"].tolist() == [0.0, np.inf] == comparison["PBD"]["relative_loss"].tolist()


def test_no_finished_result_is_lost(monkeypatch):
    """If not, minutes of work are thrown away for the one solver that failed."""
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(2, 2, 2)), pdgpu.NeoHookean(1e5, 1e6), density=1e3)
    ran = []
    step = evaluator.take_step

    def put(function):
        for module in (evaluator, reference):
            monkeypatch.setattr(module, "take_step", function)

    put(lambda core, *a, **k: (ran.append(core.solver), step(core, *a, **k)))
    with pytest.raises(TypeError, match="ProjectiveDynamics does not take the material NeoHookean"):
        pdgpu.compare(scene, {"good": pdgpu.Newton(), "bad": scenes.DIRECT})
    assert not ran  # refused before anything took its time

    def fails(core, *arguments, **options):
        if isinstance(core.solver, pdgpu.VertexBlockDescent):
            raise RuntimeError("out of luck")
        return step(core, *arguments, **options)

    put(fails)
    with pytest.warns(RuntimeWarning, match="'bad' is left out of the comparison: out of luck"):
        found = pdgpu.compare(scene, {"good": pdgpu.Newton(), "bad": pdgpu.VertexBlockDescent()})
    assert list(found) == ["good"]
    with pytest.raises(RuntimeError, match="out of luck"):
        pdgpu.compare(scene, {"bad": pdgpu.VertexBlockDescent()})


def test_float32_reaches_its_floor():
    """If not, the single-precision global step is not the correction form [numerics A5]."""
    scene, _ = scenes.bar(inputs.B20(), MU)
    x = scenes.stretched_and_twisted(inputs.B20()[0])
    solvers = {"direct": pdgpu.ProjectiveDynamics(iterations=150)}
    comparison = pdgpu.compare(scene, solvers, start=(x, None), dtype="float32")
    assert comparison["direct"]["relative_error"][-1] < 2e-5


def test_quasistatic_body_that_is_not_held_is_named():
    """If not, a singular system gives an arbitrary answer."""
    scene = pdgpu.Scene()
    scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(2, 2, 2)), pdgpu.ARAP(1e5), density=1.0, name="held").pin([0])
    scene.add_solid(pdgpu.shapes.beam((1, 1, 1), cells=(2, 2, 2)), pdgpu.ARAP(1e5), density=1.0, name="loose")
    with pytest.raises(ValueError, match="'loose' is not held"):
        pdgpu.Simulation(scene, dt=None)


def test_descriptions_print_compare_and_pickle():
    """If not, a solver cannot be sent to another process or written into a table."""
    for solver in scenes.SOLVERS.values():
        assert eval(repr(solver), vars(pdgpu)) == solver == pickle.loads(pickle.dumps(solver))
    assert set(pdgpu.capabilities()) == {type(solver).__name__ for solver in scenes.SOLVERS.values()}  # none is left out of the tests


SPACED = {
    "PD": pdgpu.ProjectiveDynamics(iterations=100),
    "VBD": pdgpu.VertexBlockDescent(iterations=203),
    "Newton": pdgpu.Newton(iterations=30),
    "XPBD": pdgpu.XPBD(iterations=50),
    "diverges": pdgpu.GradientDescent(iterations=60, line_search=False),
}


@pytest.mark.parametrize("contact", [None, pdgpu.BarrierContact(2e-3, stiffness=1e5)], ids=["free", "in contact"])
@pytest.mark.parametrize("rows", [1, 10])
def test_fewer_rows_are_those_of_a_whole_record(rows, contact):
    """If not, a comparison at logarithmic intervals shows other curves, or leaves out how a run ended."""
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(8, 2, 2))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP.from_young(young=1e6, poisson=0.3), density=1000.0).pin(lambda points: points[:, 0] < 0.01)
    scene.add_obstacle(pdgpu.Plane((0.0, -1e-3, 0.0), (0.0, 1.0, 0.0)))
    solvers = {name: solver for name, solver in SPACED.items() if contact is None or name in ("VBD", "Newton")}
    settings = {"dt": 1 / 30, "start": (mesh.points * [1.5, 1.0, 1.0], None), "contact": contact}
    every, spaced = pdgpu.compare(scene, solvers, **settings), pdgpu.compare(scene, solvers, **settings, rows_per_decade=rows)
    for name, record in every.records.items():
        fewer = spaced[name]
        at = fewer["iteration"].astype(int)
        assert fewer.status == record.status and fewer.iteration == record.iteration == at[-1] and at[0] == 0
        assert len(at) <= 2 + np.ceil(rows * np.log10(record.iteration)) + 1
        for column in ("incremental_potential", "gradient_norm", "step_norm", "relative_loss", "relative_error"):
            np.testing.assert_array_equal(fewer[column], record[column][at], err_msg=f"{name}, {column}")
        np.testing.assert_array_equal(spaced.positions[name], every.positions[name])
    assert contact is not None or spaced["diverges"].status == "diverged"


def test_a_tolerance_ends_a_run_whose_rows_are_spaced_where_it_ends_any_other():
    """If not, which iterations are recorded would decide where a solver stops."""
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(8, 2, 2))
    scene = pdgpu.Scene()
    scene.add_solid(mesh, pdgpu.ARAP(4e5), density=1000.0).pin(lambda points: points[:, 0] < 0.01)
    solvers = {"PD": pdgpu.ProjectiveDynamics(iterations=2000, tolerance=1e-5, check_every=7)}
    iterations = {pdgpu.compare(scene, solvers, rows_per_decade=rows)["PD"].iteration for rows in (None, 1, 5, 100)}
    assert len(iterations) == 1 and max(iterations) % 7 == 0 and max(iterations) < 2000
