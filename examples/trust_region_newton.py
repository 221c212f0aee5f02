"""A solver of one's own: Newton's method in a trust region, by conjugate gradients on the exact Hessian, next to Newton with a line search.

Nothing is projected. Where the Hessian is indefinite, Steihaug's conjugate gradients go along the negative curvature to the border of the
region [Nocedal and Wright 2006, Algorithms 4.1 and 7.2].

python examples/trust_region_newton.py [--out FOLDER] [--quick]
"""

import argparse
import os

import numpy as np

import pdgpu


class TrustRegionNewton(pdgpu.CustomSolver):
    radius: float = 0.1  # m, of the first region, in the norm of all coordinates

    def begin(self, step):
        self.now = self.radius

    def to_border(self, d, p):
        """The point d + t p, t > 0, on the border of the region."""
        a, b, c = np.vdot(p, p), np.vdot(d, p), np.vdot(d, d) - self.now**2
        return d + (-b + np.sqrt(b * b - a * c)) / a * p

    def solve(self, step, g):
        """A step d, and H d."""
        d = Hd = np.zeros_like(g)
        r, p = g, -g
        tolerance = min(0.5, np.sqrt(np.linalg.norm(g))) * np.linalg.norm(g)
        for _ in range(10 * g.size):
            Hp = step.hessian_product(p, filter="exact")
            curvature, r_r = np.vdot(p, Hp), np.vdot(r, r)
            alpha = r_r / curvature if curvature > 0.0 else np.inf
            if curvature <= 0.0 or np.linalg.norm(d + alpha * p) >= self.now:
                end = self.to_border(d, p)
                return end, step.hessian_product(end, filter="exact")
            d, Hd, r = d + alpha * p, Hd + alpha * Hp, r + alpha * Hp
            if np.linalg.norm(r) <= tolerance:
                break
            p = np.vdot(r, r) / r_r * p - r
        return d, Hd

    def iterate(self, step):
        g, here = step.gradient(), step.potential()
        for _ in range(30):
            d, Hd = self.solve(step, g)
            predicted = -(np.vdot(g, d) + 0.5 * np.vdot(d, Hd))
            hidden = predicted <= 1e-13 * abs(here)  # by the rounding of the potential: the model is all there is
            ratio = 1.0 if hidden else (here - step.potential(step.x + d)) / predicted
            if ratio > 0.75 and np.linalg.norm(d) > 0.99 * self.now:
                self.now *= 2.0
            elif not ratio > 0.25:
                self.now *= 0.25
            if ratio > 1e-4:
                step.move(d)
                return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="out")
    parser.add_argument("--quick", action="store_true", help="a coarse mesh")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)

    cells = 4 if options.quick else 10
    mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(cells, max(cells // 4, 1), max(cells // 4, 1)))
    scene = pdgpu.Scene()
    bar = scene.add_solid(mesh, pdgpu.NeoHookean.from_young(1e5, poisson=0.3), density=1000.0)
    bar.pin(lambda points: points[:, 0] < 0.05)
    crushed = mesh.points * [0.6, 1.0, 1.0]  # where elements are indefinite

    solvers = {
        "Newton, line search": pdgpu.Newton(iterations=25),
        "Newton, trust region": TrustRegionNewton(iterations=25),
    }
    comparison = pdgpu.compare(scene, solvers, dt=1 / 30, start=(crushed, None))
    print(comparison.table())
    path = os.path.join(options.out, "trust_region_newton.png")
    comparison.plot(y="gradient_norm").figure.savefig(path, dpi=120)
    print(path)


if __name__ == "__main__":
    main()
