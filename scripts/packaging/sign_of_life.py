"""Whether an installed pdgpu works: it takes steps, factorises, certifies, and says the licence of what it is linked with.

Needs pdgpu and its dependencies alone, so that it runs in any environment a wheel is installed in.
"""

import importlib.metadata
import platform
from pathlib import Path

import numpy as np

import pdgpu

HOST = Path(pdgpu.__file__).parent / "_host.abi3.so"


def steps():
    """Positions after three steps of a hanging bar, by every solver that the build has."""
    from pdgpu import _host

    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(8, 2, 2))
    scene = pdgpu.Scene(gravity=(0.0, -9.81, 0.0))
    scene.add_solid(mesh, pdgpu.ARAP.from_young(young=1e6, poisson=0.3), density=1000.0).pin(lambda points: points[:, 0] < 0.01)
    solvers = {"VBD": pdgpu.VertexBlockDescent(iterations=200), "Newton with PCG": pdgpu.Newton(iterations=20, linear=pdgpu.PCG())}
    if _host.HAS_CHOLMOD:
        solvers |= {
            "PD with CHOLMOD": pdgpu.ProjectiveDynamics(iterations=200, linear=pdgpu.Direct()),
            "Newton": pdgpu.Newton(iterations=20),
        }
    for name, solver in solvers.items():
        simulation = pdgpu.Simulation(scene, solver, dt=1 / 60)
        simulation.step(3)
        yield name, simulation.positions
    pdgpu.Simulation(scene, pdgpu.VertexBlockDescent(iterations=2), dt=1 / 60, dtype="float32").step()
    if _host.HAS_GMP:
        assert pdgpu.certify(simulation.positions[None], mesh.surface).clean


def main():
    found = dict(steps())
    expected = found["Newton with PCG"]
    for name, positions in found.items():
        error = np.abs(positions - expected).max()
        assert error < 1e-5, f"{name}: {error} m from the answer of Newton with PCG"
    distribution, module = importlib.metadata.distribution("pdgpu"), HOST.read_bytes()
    licence, files = distribution.metadata["License-Expression"], distribution.metadata.get_all("License-File")
    texts = Path(distribution.locate_file(f"pdgpu-{distribution.version}.dist-info")) / "licenses"
    if distribution.read_text("INSTALLER") != "debian\n":  # Debian's tools leave the texts out, since every system has them
        assert all((texts / name).stat().st_size for name in files), files
    assert (b"libcholmod" in module) == (" AND GPL-3.0-or-later AND" in licence) == ("LGPL-2.1.txt" in files), (licence, files)
    print(f"sign of life: {', '.join(found)} agree on Python {platform.python_version()}; {licence}")


if __name__ == "__main__":
    main()
