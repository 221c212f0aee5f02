"""A sweep of 200 short runs on two processes, for a test that kills it: python sweep_case.py FILE TABLE, or on the workers of MPI,
mpiexec -n 3 python -m mpi4py.futures sweep_case.py FILE TABLE mpi"""

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import pdgpu


def run(n, weight, seed):
    if weight == 0.7 and seed == 3:
        raise RuntimeError(f"no luck with {n}")
    A = np.diag(np.full(n, 2.5)) - np.eye(n, k=1) - np.eye(n, k=-1)
    result = pdgpu.linear.solve(A, np.random.default_rng(seed).normal(size=n), pdgpu.Jacobi(weight=weight, iterations=50), threads=1)
    time.sleep(0.002)
    return {"residual": result.residual_norm[-1], "rate": result.rate, "status": result.status}


GRID = {"n": [4, 6, 8, 10], "weight": [0.5, 0.6, 0.7, 0.8, 0.9], "seed": list(range(10))}

if __name__ == "__main__":
    if sys.argv[3:] == ["mpi"]:
        from mpi4py.futures import MPIPoolExecutor

        pool = MPIPoolExecutor()
        Path(sys.argv[1] + ".pid").write_text(str(os.getpid()))  # mpiexec is another process, and whom it starts outlive it
    else:
        pool = ProcessPoolExecutor(2, mp_context=get_context("fork"))
    with pool as executor:
        table = pdgpu.sweep(run, GRID, sys.argv[1], executor=executor)
    table.to_csv(sys.argv[2])
