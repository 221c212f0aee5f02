# One backend in one precision; _cpu_f32, _cuda_f32 and _cuda_f64 have the same names. Real is the module's precision.
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.floating[Any]]

KINDS: dict[str, tuple[int, int, int, int]]  # name -> (id, vertices, columns of F, parameters)

def devices() -> list[str]: ...
def element_batch(kind: int, quantity: int, x: Real, rest: Real, parameters: Real, threads: int, /) -> Real: ...

class Simulation:
    def __new__(
        cls,
        masses: NDArray[np.float64],
        fixed: NDArray[np.uint8],
        elements: list[tuple[int, NDArray[np.int32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]],
        h: float,
        solver: int,
        iterations: int,
        tolerance: float,
        check_every: int,
        initialization: int,
        line_search: bool,
        chebyshev: tuple[float, int, float] | None,
        linear: int,
        linear_iterations: int,
        weight: float,
        linear_chebyshev: tuple[float, int, float] | None,
        threads: int,
        preconditioner: int,
        relaxation: float,
    ) -> Simulation: ...
    def prepare(self, /) -> float: ...
    def step(
        self,
        targets: Real | None,
        record: NDArray[np.float64] | None,
        iterates: Real | None,
        observer: Callable[[int, float, float, Real], object] | None,
        keep_diverged: bool,
        /,
    ) -> tuple[str, int, float, int]: ...
    def steps(self, /) -> int: ...
    def set_steps(self, steps: int, /) -> None: ...
    def state(self, /) -> tuple[Real, Real, Real | None]: ...
    def set_state(self, positions: Real | None, velocities: Real | None, previous_velocities: Real | None, /) -> None: ...
    def set_load(self, load: Real, /) -> None: ...
    def energies(self, x: Real | None, /) -> NDArray[np.float64]: ...
    def gradient(self, x: Real | None, /) -> Real: ...
    def hessian(self, x: Real | None, psd: bool, /) -> tuple[NDArray[np.int32], NDArray[np.int32], Real]: ...
    def system_matrix(self, /) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]: ...
    def jacobi_weight(self, /) -> float: ...
