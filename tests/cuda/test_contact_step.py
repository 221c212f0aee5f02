"""Steps with contact on a CUDA device, against the CPU: the same pairs, and the same answer."""

import dataclasses

import numpy as np
import pytest
import scenes
from contact_scenes import SCENES
from device_parity import assert_counts, common_pairs
from resting_contact import projective

import pdgpu

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("dtype")]


@pytest.mark.parametrize("guard", ["impact", "reach"])
@pytest.mark.parametrize("linear", [pdgpu.Direct(), pdgpu.PCG()], ids=["direct", "pcg"])
def test_steps(linear, guard, dtype):
    """If not, a step on the GPU goes somewhere else than on the CPU, or through something."""
    # not by areas: particles have none, and as many Pa on their m^2 would shoot them away
    scene, contact = scenes.heap(), pdgpu.BarrierContact(0.03, stiffness=1e7, area_weighted=False, guard=guard)
    solver = pdgpu.Newton(iterations=40, tolerance=1e-10 if dtype == "float64" else 1e-6, linear=linear)
    sims = [pdgpu.Simulation(scene, solver, dt=1 / 60, contact=contact, device=device, dtype=dtype) for device in ("cpu", "cuda")]
    for step in range(3):
        for sim in sims:
            sim.step(record=step == 2)
    cpu, cuda = sims
    scale = np.abs(cpu.positions).max()
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-7 if dtype == "float64" else 5e-3) * scale
    for name in ("active_contacts", "outer"):
        assert_counts(cuda.last_step[name][-1], cpu.last_step[name][-1], dtype)
    assert abs(cuda.last_step["behind"][-1] - cpu.last_step["behind"][-1]) < 1e-6
    # the same pairs at the same positions; aligned boxes have pairs with two equally near features, and rounding chooses one
    cuda.set_state(positions=cpu.positions, velocities=cpu.velocities)
    cuda._core.backend.set_driven(cpu._core.backend.driven(), None)
    of_cpu, of_cuda = (sim._core.backend.contact_columns() for sim in sims)
    assert len(of_cpu["kind"]) > 50 and set(of_cpu["kind"]) >= {1, 2, 3, 4}
    there, here = common_pairs(of_cuda, of_cpu, dtype, same=("kind", "vertices"))
    for name in ("activation", "separation", "weight", "threshold", "distance", "gradient"):
        size = np.abs(of_cpu[name]).max()
        assert np.abs(of_cuda[name][there] - of_cpu[name][here]).max() <= (1e-10 if dtype == "float64" else 2e-3) * size
    assert cuda.energies()["contact"] == pytest.approx(cpu.energies()["contact"], rel=1e-10 if dtype == "float64" else 1e-3)
    again = pdgpu.Simulation(scene, solver, dt=1 / 60, contact=contact, device="cuda", dtype=dtype)
    first = pdgpu.Simulation(scene, solver, dt=1 / 60, contact=contact, device="cuda", dtype=dtype)
    again.step()
    first.step()
    np.testing.assert_array_equal(again.positions, first.positions)


DESCENTS = {
    "vertex block descent": pdgpu.VertexBlockDescent(iterations=12, chebyshev=pdgpu.Chebyshev(rho=0.8, start=2)),
    "with a line search": pdgpu.VertexBlockDescent(iterations=6, line_search=True),
    "block Jacobi": pdgpu.BlockJacobi(iterations=12),
    "gradient descent": pdgpu.GradientDescent(iterations=8),
}


@pytest.mark.parametrize("guard", ["impact", "reach"])
@pytest.mark.parametrize("method", DESCENTS)
def test_descent(method, guard, dtype):
    """If not, a vertex on the GPU touches something else than on the CPU, or two of them at once write what a third one reads."""
    scene, contact = scenes.heap(), pdgpu.BarrierContact(0.03, stiffness=1e7, area_weighted=False, guard=guard)
    sims = [
        pdgpu.Simulation(scene, DESCENTS[method], dt=1 / 60, contact=contact, device=device, dtype=dtype)
        for device in ("cpu", "cuda", "cuda")
    ]
    cpu, cuda, again = sims
    for step in range(2):
        for sim in sims:
            sim.step(record=step == 1)
        # with reach, vertices of a kept list go exactly as far as they may: in the second step rounding decides whether pairs are
        # found again. The CPU alone, started 1e-16 m apart, differs by 3 mm then
        exact = dtype == "float64" and (step == 0 or guard == "impact")
        tolerance = 1e-9 if exact else 1e-2 if step == 1 and guard == "reach" else 1e-3
        assert np.abs(cuda.positions - cpu.positions).max() < tolerance * np.abs(cpu.positions).max()
        np.testing.assert_array_equal(again.positions, cuda.positions)
    assert cpu.last_step["active_contacts"][-1] > 10


ANSWERS = {
    "barrier": pdgpu.BarrierContact(0.03, stiffness=1e7, area_weighted=False),
    "penalty": pdgpu.PenaltyContact(0.03, stiffness=3e3, depth=0.1, friction=0.4, friction_velocity=0.05),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_no_update_reads_what_another_of_its_colour_writes(answer, dtype, on_host, monkeypatch):
    """If not, the bits depend on which block of a colour's launch comes first: vertices of a colour share no element, but they touch, and
    a point that moves in the launch that reads its neighbours is where it was for one of them and where it went for another.
    (With points moved in that launch, tried once, the two orders were 1e-3 m apart after this step.)
    """
    if not on_host:
        pytest.skip("a device runs blocks in an order of its own")
    monkeypatch.setenv("PDGPU_UPDATE_THREADS", "32")  # eight updates to a block, so that a colour has several
    found = []
    for order in ("forwards", "backwards"):
        monkeypatch.setenv("PD_ON_HOST_ORDER", order)
        solver = pdgpu.VertexBlockDescent(iterations=4)
        sim = pdgpu.Simulation(scenes.heap(), solver, dt=1 / 60, contact=ANSWERS[answer], device="cuda", dtype=dtype)
        sim.step()
        found.append(sim.positions)
    np.testing.assert_array_equal(*found)


def test_lists_grow_between_steps_only(dtype):
    """If not, a step allocates where nothing new has come near."""
    sim = pdgpu.Simulation(
        scenes.heap(), pdgpu.Newton(iterations=6), dt=1e-6, contact=pdgpu.BarrierContact(0.03, stiffness=2e4), device="cuda", dtype=dtype
    )
    sim.step(2)
    before = sim._core.backend.counts()["allocations"]
    sim.step(2)
    assert sim._core.backend.counts()["allocations"] == before


@pytest.mark.parametrize(
    "solver",
    [
        pdgpu.ProjectiveDynamics(iterations=4),
        pdgpu.ProjectiveDynamics(iterations=4, linear=pdgpu.PCG(iterations=5)),
        pdgpu.ProjectiveDynamics(iterations=4, linear=pdgpu.Jacobi(), chebyshev=pdgpu.Chebyshev(rho=0.9, start=2)),
        pdgpu.ProjectiveDynamics(iterations=4, linear=pdgpu.SymmetricGaussSeidel()),
        pdgpu.QuasiNewton(iterations=4),
        pdgpu.NonlinearCG(iterations=4),
        pdgpu.ADMM(iterations=4),
    ],
    ids=["pd", "pd by pcg", "pd by jacobi", "pd by gauss-seidel", "quasi-newton", "nonlinear cg", "admm"],
)
def test_minimisers(solver, dtype):
    """If not, a graph goes on with what was near before, or the matrix on the GPU is another one."""
    case = SCENES["crossing cloths"](False)
    scene, contact = projective(case).scene, dataclasses.replace(case.contact, friction=0.3)
    sims = [pdgpu.Simulation(scene, solver, dt=case.dt, contact=contact, device=device, dtype=dtype) for device in ("cpu", "cuda")]
    for sim in sims:
        sim.step(1 if isinstance(solver, pdgpu.ADMM) else 3)  # it has no line search: what rounding does grows in each step
    cpu, cuda = sims
    assert len(cpu.contact_forces()) > 0
    assert np.abs(cuda.positions - cpu.positions).max() < (1e-7 if dtype == "float64" else 5e-3) * np.abs(cpu.positions).max()


@pytest.mark.parametrize(
    ("solver", "contact"),
    [
        (pdgpu.Newton(iterations=3), pdgpu.BarrierContact(1e-3)),
        (pdgpu.ProjectiveDynamics(iterations=3, linear=pdgpu.PCG(iterations=5)), pdgpu.BarrierContact(1e-3)),
        (pdgpu.ProjectiveDynamics(iterations=3, linear=pdgpu.Jacobi(iterations=5)), pdgpu.ProjectiveContact(1e-3)),
    ],
    ids=["newton", "pd", "projections"],
)
def test_bodies_that_are_far_apart(solver, contact, dtype):
    """If not, a scene whose first search finds no candidate pair at all ends in an error of the device."""
    mesh = pdgpu.shapes.beam((0.3, 0.1, 0.1), cells=(3, 1, 1))
    scene = pdgpu.Scene()
    for k in range(2):
        scene.add_solid(pdgpu.Mesh(mesh.points + [0.0, 0.0, 0.5 * k], tets=mesh.tets), pdgpu.ARAP(1e4), density=500.0)
    cpu, cuda = (pdgpu.Simulation(scene, solver, dt=1 / 60, contact=contact, device=device, dtype=dtype) for device in ("cpu", "cuda"))
    for sim in (cpu, cuda):
        sim.step(2)
    tolerance = 1e-9 if dtype == "float64" else 1e-4
    assert np.abs(cuda.positions - cpu.positions).max() < tolerance * np.abs(cpu.positions).max()


@pytest.mark.parametrize("weighting", ["harmonic", "sum"])
def test_weights(weighting, dtype):
    """If not, a coarse floor, a ball or a capsule pushes harder on the GPU than on the CPU."""
    scene, contact = scenes.heap(), pdgpu.BarrierContact(0.03, stiffness=1e5, weighting=weighting)
    sims = [pdgpu.Simulation(scene, pdgpu.Newton(), dt=1 / 60, contact=contact, device=device, dtype=dtype) for device in ("cpu", "cuda")]
    of_cpu, of_cuda = (sim._core.backend.contact_columns() for sim in sims)
    assert set(of_cpu["kind"]) >= {1, 2, 3, 4}
    there, here = common_pairs(of_cuda, of_cpu, dtype, same=("kind", "vertices"))
    assert len(here) > 50
    np.testing.assert_allclose(of_cuda["weight"][there], of_cpu["weight"][here], rtol=4.0 * np.finfo(dtype).eps)
