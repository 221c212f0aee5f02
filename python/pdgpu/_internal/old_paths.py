"""Module paths of earlier versions, with all modules in one folder, and short public paths such as `pdgpu.ccd`.

A name in the tables below imports the module at its present path: both are the same object. An import statement with an earlier path warns.
A pickle with such a path loads without a warning.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.machinery import ModuleSpec

__all__ = ["install"]

PUBLIC = {
    "ccd": "collision.ccd",
    "elements": "materials.elements",
    "geometry": "collision.geometry",
    "shapes": "mesh.shapes",
    "surface": "scene.surface",
}
FOLDERS = {
    "_internal": "arguments array_archive atomic_files attributes backends motion_calls openmp relative_core row_file",
    "collision": "found_pairs intersections",
    "contact": "contact_scene contact_start contact_stiffness contact_surface penalty_contact projective_contact proxy_contact rest_field "
    "rest_surface two_way_contact",
    "linear": "automatic chebyshev_search linear_arguments linear_rates linear_result linear_solvers scaling schur spectrum",
    "materials": "joint_elements locking material shape_target skin",
    "mesh": "mesh_groups mesh_order mesh_quality vertex_colours",
    "mesh.io": "mesh_counts mesh_files mesh_readers mesh_writers",
    "results": "histories rates records tables",
    "scene": "bodies colliders embedding held_parts joints prescribed_pairs rigid_bodies rigid_scene signed_distance_field tethers",
    "simulation": "automatic_rho checkpoint contact_balance contact_forces contact_queries contacts cutting diagnostics inverted_tets "
    "motion readback rigid_state scene_entries snapshots state stepping target_lag volume_files",
    "solvers": "descent_solvers solver_support time_step_solver",
    "study": "comparison sweeps",
    "verify": "certificate rigid_path",
    "viz": "body_plotting contact_plotting viewers",
}
EARLIER = {name: f"{folder}.{name}" for folder, names in FOLDERS.items() for name in names.split()}
EARLIER |= {f"judged_{noun}": f"verify.verifier_{noun}" for noun in ("inside", "layers", "planes", "shapes")}
PRESENT = PUBLIC | EARLIER


class _Finder:
    """Find and load the modules of both tables. importlib.abc has the interface, but would load twenty modules."""

    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.partition(".")
        if package != "pdgpu" or name not in PRESENT:
            return None
        if name in EARLIER:
            _warn(fullname, f"pdgpu.{PRESENT[name]}")
        return ModuleSpec(fullname, self)

    def create_module(self, spec):
        name = spec.name.partition(".")[2]
        module = importlib.import_module(f"pdgpu.{PRESENT[name]}")
        spec.loader_state = module.__spec__  # importlib stores the new specification in the module
        return module

    def exec_module(self, module):
        module.__spec__ = module.__spec__.loader_state


def _warn(fullname, present):
    """Warn of an import statement, or a call of importlib.import_module; not of pickle, which imports by its own call."""
    depth, frame = 1, sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename == __file__ or frame.f_code.co_filename.startswith("<frozen importlib")):
        depth, frame = depth + 1, frame.f_back
    if frame is None:
        return
    from opcode import opmap

    called = frame.f_globals.get("__name__") == "importlib"
    if called or frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_NAME"]:
        warnings.warn(f"{fullname} has moved to {present}", DeprecationWarning, stacklevel=depth + called)


def install():
    """Add the finder to the import system, once."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
