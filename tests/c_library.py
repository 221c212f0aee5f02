"""The installed C library through ctypes: scenes, solvers and simulations by the functions of pdgpu.h, in float64 on the CPU."""

import ctypes
from pathlib import Path

import numpy as np

PREFIX = Path(__file__).parents[1] / "build" / "library" / "prefix"
BODIES = ("solid", "shell", "rod", "particles")  # pdgpu_body_type
MATERIALS = ("Spring", "ARAP", "Volume", "Area", "StrainLimit", "NeoHookean", "StVK", "Corotated", "Bending")  # pdgpu_material


class Error(ctypes.Structure):
    _fields_ = (("text", ctypes.c_char * 512), ("iteration", ctypes.c_int), ("vertex", ctypes.c_int))


class Barrier(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_double) for name in ("distance", "stiffness", "separation", "friction", "friction_velocity")),
        *((name, ctypes.c_int) for name in ("friction_lags", "unweighted", "by_reach")),
    )


class Penalty(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_double) for name in ("thickness", "stiffness", "depth", "friction", "friction_velocity")),
        ("detection_interval", ctypes.c_int),
    )


def library():
    """The shared library, or None where it is not built."""
    found = sorted(PREFIX.glob("lib*/libpdgpu_cpu_f64.so"))
    return ctypes.CDLL(str(found[0])) if found else None


def given(value):
    """An argument as C takes it."""
    if isinstance(value, float):
        return ctypes.c_double(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value)
        array = np.ascontiguousarray(array, np.float64 if array.dtype.kind == "f" else np.int32)
        return array.ctypes.data_as(ctypes.c_void_p)
    return ctypes.byref(value) if isinstance(value, ctypes.Structure) else value


class CProgram:
    """The handles of one simulation, and calls that raise where a status is not 0."""

    def __init__(self, gravity=(0.0, -9.81, 0.0)):
        self.library, self.handles = library(), []
        self.scene = self.made("scene_create", [*map(float, gravity)])

    def call(self, name, *arguments):
        error = Error()
        kept = [given(argument) for argument in arguments]
        status = self.library[f"pdgpu_{name}_cpu_f64"](*kept, ctypes.byref(error))
        if status:
            raise RuntimeError(f"{name}: {error.text.decode()}")

    def made(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        self.handles.append((name.split("_")[0], handle))
        return handle

    def add_body(self, kind, points, elements, density):
        body = ctypes.c_int()
        number = BODIES.index(kind)
        self.call("scene_add_body", self.scene, number, points, len(points), elements, len(elements), float(density), ctypes.byref(body))
        return body.value

    def add_material(self, body, material, *constants):
        self.call("scene_add_material", self.scene, body, MATERIALS.index(material), [*map(float, constants)], 1)

    def simulate(self, solver, options, dt, n):
        """Makes the simulation of n vertices; a linear solver among the options is a name."""
        chosen = self.made("solver_create", solver)
        for name, value in options.items():
            if isinstance(value, str):
                self.call("solver_set_linear", chosen, value)
            else:
                self.call("solver_set", chosen, name, float(value))
        self.simulation, self.n = self.made("simulation_create", self.scene, chosen, float(dt), 0, 1), n

    def step(self):
        """The positions (n, 3) m after one more step."""
        positions = np.empty((self.n, 3))
        self.call("simulation_step", self.simulation, None, None, None)
        self.call("simulation_get_state", self.simulation, positions, None)
        return positions

    def close(self):
        for kind, handle in reversed(self.handles):
            self.library[f"pdgpu_{kind}_destroy_cpu_f64"](handle)
