"""A material of one's own: a Mooney-Rivlin block in uniaxial tension, next to the curve on paper.

The block slides between two plates and its sides are free, so that it is stretched evenly. The stress on paper follows from the energy
density by one unknown, the stretch across, at which the sides carry nothing [Mooney 1940; Rivlin 1948; Ogden 1997, Sec. 4.3].

python examples/mooney_rivlin.py [--out FOLDER] [--quick]
"""

import argparse
import os

import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import pdgpu


# the material: fifteen lines
def energy(F, c1, c2, kappa):
    C = np.swapaxes(F, 1, 2) @ F
    i1, J = np.trace(C, axis1=1, axis2=2), np.linalg.det(F)
    i2, log = 0.5 * (i1**2 - (C**2).sum((1, 2))), np.log(np.where(J > 0.0, J, 1.0))
    return np.where(J > 0.0, c1 * (i1 - 3.0 - 2.0 * log) + c2 * (i2 - 3.0 - 4.0 * log) + 0.5 * kappa * log**2, np.inf)


def stress(F, c1, c2, kappa):
    C, inverse = np.swapaxes(F, 1, 2) @ F, np.swapaxes(np.linalg.inv(F), 1, 2)
    i1, log = np.trace(C, axis1=1, axis2=2)[:, None, None], np.log(np.linalg.det(F))[:, None, None]
    return 2.0 * c1 * (F - inverse) + 2.0 * c2 * (i1 * F - F @ C - 2.0 * inverse) + kappa * log * inverse


CONSTANTS = {"c1": 3e4, "c2": 1e4, "kappa": 2e5}  # Pa


def on_paper(stretch, c1, c2, kappa):
    """Nominal stress, Pa, of a bar of this stretch whose sides are free."""

    def across(b):
        """dPsi/db over 2, at the stretches s, b, b."""
        return 2.0 * c1 * (b - 1.0 / b) + 2.0 * c2 * (b * stretch**2 + b**3 - 2.0 / b) + kappa * np.log(stretch * b**2) / b

    b = scipy.optimize.brentq(across, 0.2, 2.0, xtol=1e-14)
    return 2.0 * c1 * (stretch - 1.0 / stretch) + 4.0 * c2 * (stretch * b**2 - 1.0 / stretch) + kappa * np.log(stretch * b**2) / stretch


def pulled(stretches, cells):
    """Nominal stresses, Pa, of a block that is pulled to these stretches."""
    mesh = pdgpu.shapes.beam((1.0, 0.5, 0.5), cells=(2 * cells, cells, cells))
    x, found = mesh.points, []
    material = pdgpu.CustomMaterial(energy, stress, parameters=CONSTANTS, name="Mooney-Rivlin")
    for stretch in stretches:
        scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
        block = scene.add_solid(mesh, material, density=1000.0)
        ends = (x[:, 0] < 1e-9) | (x[:, 0] > 1.0 - 1e-9)
        middle = np.abs(x[:, 1:] - x[:, 1:].mean(axis=0)).max(axis=1) < 1e-9
        block.pin(ends & middle)  # else nothing holds it across
        block.slide(ends & ~middle, plane=(1.0, 0.0, 0.0))
        sim = pdgpu.Simulation(scene, pdgpu.Newton(iterations=50, tolerance=1e-10), dt=None, dtype="float64")
        sim.set_state(positions=x * [stretch, 1.0, 1.0])
        sim.step()
        found.append(sim.stress(block.name, measure="first_piola")[:, 0, 0].mean())
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="out")
    parser.add_argument("--quick", action="store_true", help="few stretches")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    stretches = np.linspace(0.7, 2.0, 4 if options.quick else 14)
    found, expected = pulled(stretches, 2), np.array([on_paper(stretch, **CONSTANTS) for stretch in stretches])
    for row in zip(stretches, found, expected, strict=True):
        print("stretch {:.2f}   block {:11.3f} Pa   on paper {:11.3f} Pa".format(*row))
    print(f"largest difference {np.abs(found - expected).max():.1e} Pa")
    fine = np.linspace(stretches[0], stretches[-1], 200)
    axes = plt.figure().add_subplot(xlabel="stretch", ylabel="nominal stress in kPa")
    axes.plot(fine, [1e-3 * on_paper(stretch, **CONSTANTS) for stretch in fine], label="on paper")
    axes.plot(stretches, 1e-3 * found, "o", label="block of tets, Newton")
    axes.legend()
    path = os.path.join(options.out, "mooney_rivlin.png")
    axes.figure.savefig(path, dpi=120)
    print(path)


if __name__ == "__main__":
    main()
