"""A solver of one's own: Projective Dynamics with Anderson acceleration, next to the plain one, Chebyshev and L-BFGS.

The iterations of Projective Dynamics are a fixed-point map. Anderson acceleration takes the combination of its last steps whose residuals
nearly cancel [Peng et al. 2018, Anderson Acceleration for Geometry Optimization and Physics Simulation, Algorithm 1], and falls back to
the plain step where the potential would grow.

python examples/anderson_projective_dynamics.py [--out FOLDER] [--quick]
"""

import argparse
import os

import numpy as np

import pdgpu


class Anderson(pdgpu.CustomSolver):
    window: int = 5

    def begin(self, step):
        self.residuals, self.images, self.plain, self.potential = [], [], None, np.inf

    def iterate(self, step):
        if step.potential() > self.potential and self.plain is not None:
            step.move(self.plain - step.x)  # the accelerated iterate was no better
        self.potential = step.potential()
        image = step.global_solve(step.local_step())
        self.residuals = [*self.residuals, (image - step.x).ravel()][-self.window - 1 :]
        self.images = [*self.images, image][-self.window - 1 :]
        self.plain, accelerated = image, image
        if len(self.images) > 1:
            differences = np.diff(self.residuals, axis=0).T
            theta = np.linalg.lstsq(differences, self.residuals[-1], rcond=None)[0]
            accelerated = image - np.tensordot(theta, np.diff(self.images, axis=0), axes=1)
        step.move(accelerated - step.x)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="out")
    parser.add_argument("--quick", action="store_true", help="a coarse mesh")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)

    cells = 6 if options.quick else 20
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(cells, max(cells // 4, 1), max(cells // 4, 1)))
    scene = pdgpu.Scene()
    bar = scene.add_solid(mesh, pdgpu.ARAP.from_young(1e5, poisson=0.3), density=1000.0)
    bar.pin(lambda points: points[:, 0] < 0.05)

    iterations = 100
    solvers = {
        "PD": pdgpu.ProjectiveDynamics(iterations=iterations),
        "PD, Chebyshev": pdgpu.ProjectiveDynamics(iterations=iterations, chebyshev=pdgpu.Chebyshev(rho="auto")),
        "PD, Anderson": Anderson(iterations=iterations),
        "L-BFGS": pdgpu.QuasiNewton(iterations=iterations),
    }
    comparison = pdgpu.compare(scene, solvers, dt=1 / 30, start=(mesh.points * [1.5, 1.0, 1.0], None))
    print(comparison.table())
    path = os.path.join(options.out, "anderson_projective_dynamics.png")
    comparison.plot().figure.savefig(path, dpi=120)
    print(path)


if __name__ == "__main__":
    main()
