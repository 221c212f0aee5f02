from typing import Literal

import numpy as np
from numpy.typing import NDArray

_Float64 = NDArray[np.float64]
_Int32 = NDArray[np.int32]
_UInt8 = NDArray[np.uint8]

HAS_CHOLMOD: bool
HAS_GMP: bool
# names by place: columns of the arrays that steps and linear solves fill, parts of a step's time, what ends one, parts of the potential
RECORD_COLUMNS: tuple[str, ...]
UPDATE_COLUMNS: tuple[str, ...]
LINEAR_RECORD_COLUMNS: tuple[str, ...]
PHASES: tuple[str, ...]
STOPS: tuple[str, ...]
ENERGIES: tuple[str, ...]
cholesky: object

def cpu_supports_backend() -> bool: ...
def check_elements(points: _Float64, elements: _Int32, name: str = "elements") -> None: ...
def orient_tets(points: _Float64, tets: _Int32) -> tuple[_Int32, int]: ...
def surface(tets: _Int32, n_points: int) -> _Int32: ...
def edges(elements: _Int32, n_points: int) -> _Int32: ...
def hinges(triangles: _Int32, n_points: int) -> _Int32: ...
def measures(points: _Float64, elements: _Int32) -> _Float64: ...
def lumped_masses(points: _Float64, elements: _Int32, density: _Float64) -> _Float64: ...
def colouring(elements: _Int32, n_points: int, method: Literal["balanced", "greedy"] = "balanced") -> _Int32: ...
def rest_shape(
    rest: _Float64, topology: Literal["edge", "triangle", "tet", "hinge"], rows: _Int32 | None = None
) -> tuple[_Float64, _Float64]: ...
def find_intersections(
    points: _Float64, triangles: _Int32, edges: _Int32, alone: _UInt8, threads: int, /
) -> tuple[_Int32, _Int32, _Int32]: ...
def find_crossings(
    points_0: _Float64, points_1: _Float64, vertices: _Int32, triangles: _Int32, edges: _Int32, alone: _UInt8, threads: int, /
) -> tuple[_Int32, _Float64, _Int32, _Float64, _Int32, _Float64]: ...
def find_approaches(
    points_0: _Float64,
    points_1: _Float64,
    first: _Int32,
    second: _Int32,
    radii: _Float64,
    separation: float,
    fixed: _UInt8,
    same: bool,
    threads: int,
    /,
) -> tuple[_Int32, _Float64, _Float64]: ...
def contact_times(x: _Float64, n_first: int, /) -> _Float64: ...
def smallest_gap(
    points: _Float64, vertices: _Int32, triangles: _Int32, edges: _Int32, alone: _UInt8, threads: int, /
) -> tuple[float, int, int, int]: ...
def pair_pattern(points: _Int32, n_vertices: int, threads: int, /) -> tuple[_Int32, _Int32, _Int32]: ...
def check_closed(triangles: _Int32, n_points: int, /) -> None: ...
def nearest_triangles(points: _Float64, triangles: _Int32, queries: _Float64, threads: int, /) -> _Int32: ...
def are_inside(points: _Float64, triangles: _Int32, queries: _Float64, threads: int, /) -> _UInt8: ...
def distance_grid(
    points: _Float64,
    triangles: _Int32,
    origin: tuple[float, float, float],
    spacing: float,
    counts: tuple[int, int, int],
    threads: int,
    /,
) -> _Float64: ...
