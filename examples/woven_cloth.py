"""A material of one's own: a woven cloth, stiff along warp and weft and soft in shear, next to its stiffness on paper.

The energy is that of an orthotropic Saint Venant-Kirchhoff membrane. A strip that is pulled along one of its threads and free at its sides
has, with the Green strain E = (s^2 - 1)/2 of a stretch s, the nominal stress s (k_along - coupling^2 / k_across) E.

python examples/woven_cloth.py [--out FOLDER] [--quick]
"""

import argparse
import os

import matplotlib.pyplot as plt
import numpy as np

import pdgpu


# the material: eleven lines
def strain(F):
    return 0.5 * (np.swapaxes(F, 1, 2) @ F - np.eye(2))


def energy(F, warp, weft, coupling, shear):
    E = strain(F)
    return 0.5 * (warp * E[:, 0, 0] ** 2 + weft * E[:, 1, 1] ** 2) + coupling * E[:, 0, 0] * E[:, 1, 1] + 2.0 * shear * E[:, 0, 1] ** 2


def stress(F, warp, weft, coupling, shear):
    E = strain(F)
    S = 2.0 * shear * E
    S[:, 0, 0], S[:, 1, 1] = warp * E[:, 0, 0] + coupling * E[:, 1, 1], weft * E[:, 1, 1] + coupling * E[:, 0, 0]
    return F @ S


CONSTANTS = {"warp": 800.0, "weft": 300.0, "coupling": 60.0, "shear": 25.0}  # N/m


def on_paper(stretch, along, across, coupling):
    """Nominal stress, N/m, of a strip of this stretch whose sides are free."""
    return stretch * (along - coupling**2 / across) * 0.5 * (stretch**2 - 1.0)


def pulled(stretch, direction, cells):
    """Nominal stress, N/m, of a strip along x whose warp has a direction at rest."""
    mesh = pdgpu.shapes.grid((1.0, 0.5), cells=(2 * cells, cells))
    x = mesh.points
    scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
    cloth = pdgpu.CustomMaterial(energy, stress, parameters=CONSTANTS, bodies="shell", direction=direction, name="woven cloth")
    strip = scene.add_shell(mesh, cloth, density=0.3)
    ends, corner = (x[:, 0] < 1e-9) | (x[:, 0] > 1.0 - 1e-9), x[:, 1] < 1e-9
    strip.pin(ends & corner)
    strip.slide(ends & ~corner, line=(0.0, 1.0, 0.0))
    sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=50, tolerance=1e-12), dt=None, dtype="float64")
    sim.set_state(positions=x * [stretch, 1.0, 1.0])
    sim.step()
    return sim.forces()[x[:, 0] < 1e-9, 0].sum() / 0.5  # of the width that it had


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="out")
    parser.add_argument("--quick", action="store_true", help="few stretches")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    warp, weft, coupling = (CONSTANTS[name] for name in ("warp", "weft", "coupling"))
    threads = {"warp": ((1.0, 0.0, 0.0), warp, weft), "weft": ((0.0, 1.0, 0.0), weft, warp)}
    axes = plt.figure().add_subplot(xlabel="stretch", ylabel="nominal stress in N/m")
    for name, (direction, along, across) in threads.items():
        stretches = np.linspace(1.02, 1.2, 3 if options.quick else 10)
        found = np.array([pulled(stretch, direction, 4) for stretch in stretches])
        expected = on_paper(stretches, along, across, coupling)
        for row in zip(stretches, found, expected, strict=True):
            print(f"along the {name}, " + "stretch {:.2f}   strip {:9.5f} N/m   on paper {:9.5f} N/m".format(*row))
        fine = np.linspace(1.0, 1.2, 100)
        axes.plot(fine, on_paper(fine, along, across, coupling), label=f"{name}, on paper")
        axes.plot(stretches, found, "o", label=f"{name}, Newton")
    axes.legend()
    path = os.path.join(options.out, "woven_cloth.png")
    axes.figure.savefig(path, dpi=120)
    print(path)


if __name__ == "__main__":
    main()
