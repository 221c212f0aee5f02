"""One implicit Euler step of a twisted bar with Projective Dynamics, four ways, and Newton: who is how near after how many seconds?

python examples/compare_solvers.py [--out FOLDER]
"""

import argparse
import os

import numpy as np

import pdgpu
from pdgpu.plotting import save_convergence

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="out")
out = parser.parse_args().out
os.makedirs(out, exist_ok=True)

mesh = pdgpu.shapes.beam((1.0, 0.25, 0.25), cells=(20, 5, 5))
scene = pdgpu.Scene(gravity=(0.0, 0.0, 0.0))
bar = scene.add_solid(mesh, pdgpu.ARAP.from_young(young=1e6, poisson=0.3), density=1000.0)
bar.pin(lambda points: points[:, 0] < 0.05)

# stretched by half and twisted by one radian per metre about its axis
x, y, z = (mesh.points - [0.0, 0.125, 0.125]).T
start = np.column_stack([1.5 * x, np.cos(x) * y - np.sin(x) * z, np.sin(x) * y + np.cos(x) * z]) + [0.0, 0.125, 0.125]

comparison = pdgpu.compare(
    scene,
    {
        "PD direct": pdgpu.ProjectiveDynamics(iterations=150),
        "PD direct + Chebyshev": pdgpu.ProjectiveDynamics(iterations=150, chebyshev=pdgpu.Chebyshev(rho=0.98)),
        "PD Jacobi": pdgpu.ProjectiveDynamics(iterations=400, linear=pdgpu.Jacobi()),
        "PD Jacobi + Chebyshev": pdgpu.ProjectiveDynamics(iterations=400, linear=pdgpu.Jacobi(), chebyshev=pdgpu.Chebyshev(rho=0.998)),
        "Newton": pdgpu.Newton(iterations=12),
    },
    dt=1 / 30,
    start=(start, None),
)
print(comparison.table())
comparison.to_csv(os.path.join(out, "compare_solvers.csv"))
save_convergence(comparison, os.path.join(out, "compare_solvers.png"))
print("written:", os.path.join(out, "compare_solvers.png"))
