"""Type aliases of arguments, for type checkers and readers; programs do not use them at run time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import scipy.sparse

    from pdgpu.contact.barrier_contact import BarrierContact
    from pdgpu.contact.penalty_contact import PenaltyContact
    from pdgpu.contact.projective_contact import ProjectiveContact
    from pdgpu.contact.proxy_contact import ProxyContact
    from pdgpu.contact.two_way_contact import TwoWayContact
    from pdgpu.linear.linear_solvers import PCG, SOR, AJacobi, Direct, GaussSeidel, Jacobi, LinearFunction, SymmetricGaussSeidel
    from pdgpu.materials.material import Material
    from pdgpu.scene.bodies import Body, Obstacle
    from pdgpu.solvers.time_step_solver import TimeStepSolver

    Solver: TypeAlias = TimeStepSolver
    Described: TypeAlias = Direct | Jacobi | AJacobi | GaussSeidel | SymmetricGaussSeidel | SOR | PCG | LinearFunction
    LinearSolver: TypeAlias = Described | Callable[..., Any]
    Contact: TypeAlias = BarrierContact | PenaltyContact | ProjectiveContact | ProxyContact | TwoWayContact
    BodyName: TypeAlias = Body | str
    Owner: TypeAlias = Body | Obstacle | str
    Materials: TypeAlias = Material | list[Material] | tuple[Material, ...]
    Sparse: TypeAlias = scipy.sparse.sparray | scipy.sparse.spmatrix
    Matrix: TypeAlias = ArrayLike | Sparse

Device: TypeAlias = Literal["cpu", "cuda", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7"]
Integrator: TypeAlias = Literal["implicit_euler", "bdf2", "trapezoidal", "newmark"]
Precision: TypeAlias = Literal["float32", "float64"] | type[np.float32] | type[np.float64] | np.dtype[Any]
Path: TypeAlias = str | os.PathLike[str]
Floats: TypeAlias = NDArray[Any]
Integers: TypeAlias = NDArray[np.int32]
# vertices: indices, a mask, or a function of the points that returns a mask
Where: TypeAlias = ArrayLike | Callable[[Floats], ArrayLike]
# of prescribed motions: the position at a time, from the position at rest
Motion: TypeAlias = Callable[[float, Floats], ArrayLike]
Placement: TypeAlias = Callable[[float], Any]
Bounds: TypeAlias = tuple[ArrayLike, ArrayLike]
Options: TypeAlias = Mapping[str, Any]
