"""A scene from the JSON of polyfem [polyfem.github.io, JSON specification]."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from pdgpu.contact.barrier_contact import BarrierContact
from pdgpu.materials.hyperelastic import FixedCorotated, LogNeoHookean, StVK
from pdgpu.mesh.mesh import Mesh
from pdgpu.scene.colliders import Plane
from pdgpu.scene.scene import Scene
from pdgpu.simulation.scene_files.expressions import Displacement, Expression
from pdgpu.simulation.scene_files.json_lines import DEEPEST, Node, Section, merged, parse_json, patched
from pdgpu.simulation.scene_files.loaded_scene import LoadedScene
from pdgpu.simulation.scene_files.polyfem_geometry import Geometry, read_geometry
from pdgpu.simulation.scene_files.scene_parts import MeshFiles, add_obstacle_part, integrator_options, material_of
from pdgpu.simulation.scene_files.scene_text import scene_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pdgpu.simulation.scene_files.notes import SceneNotes

__all__ = ["polyfem_scene"]

MATERIALS = {"NeoHookean": LogNeoHookean, "FixedCorotational": FixedCorotated, "SaintVenant": StVK}
PASSES = 10  # of friction for a file that asks for convergence
MOST_FILES = 20
OUTPUT = "it concerns output and tests"
SOLVER = "the solver of pdgpu has its own settings; give simulation(solver=)"


def polyfem_scene(text: str, notes: SceneNotes, files: MeshFiles) -> LoadedScene:
    """Build the scene of a JSON text."""
    root = Section(_with_common(parse_json(text, notes, notes.path), notes, files, [notes.path.resolve()]), "", notes)
    root.ignore(OUTPUT, "output", "tests", "root_path")
    given = root.has("time")
    dt, interval, duration, options = _time(root.section("time"), given)
    contact, settings = root.section("contact"), root.section("solver")
    passes, lumped = _solver(settings)
    if not lumped:
        notes.replace(settings.node.line, "solver/advanced/lump_mass_matrix", "the masses are lumped", settings.node.path)
    _order(root.section("space"))
    conditions = root.section("boundary_conditions")
    _refuse_flat(conditions)
    scene = Scene(gravity=-np.array(conditions.numbers("rhs", 3, [0.0, 0.0, 0.0])))
    geometries = read_geometry(root, files)
    if all(geometry.obstacle for geometry in geometries):
        notes.fail(root.node.line, "geometry", "no mesh deforms; give one with tets", root.node.path)
    velocities = list(_velocities(root.section("initial_conditions")))
    materials = list(_materials(root, notes))
    pinned = list(_displacements(conditions, "dirichlet_boundary"))
    moved = [*_displacements(conditions, "obstacle_displacements"), *pinned]
    for geometry in geometries:
        with notes.naming(geometry.node.line, geometry.where, geometry.node.path):
            if geometry.obstacle:
                _add_obstacle(scene, geometry, moved, notes)
            else:
                body = _add_body(scene, geometry, materials, velocities, notes)
                _pin(body, geometry, pinned, notes)
    for key in ("neumann_boundary", "pressure_boundary", "pressure_cavity", "normal_aligned_dirichlet_boundary", "periodic_boundary"):
        conditions.refuse(key, "this boundary condition is not supported")
    conditions.end()
    with notes.naming(contact.node.line, "contact", contact.node.path):
        barrier = _contact(contact, passes)
    root.end()
    return LoadedScene(
        path=os.fspath(notes.path),
        format="polyfem",
        scene=scene,
        dt=dt,
        interval=interval,
        duration=duration,
        contact=barrier,
        options=options,
        notes=tuple(notes.found),
    )


# ---- files that include others ---------------------------------------------------------------------------------------------------


def _with_common(node, notes, files, chain):
    """The value merged over that of its "common" file, then with its "patch" applied."""
    section = Section(node, "", notes)
    common, patch = section.take("common"), section.take("patch")
    if common is None or common.value == "":
        base = node
    else:
        if not isinstance(common.value, str):
            notes.fail(common.line, "common", "expected the path of a file", common.path)
        path = files.find(common.value, common.line, "common", source=common.path).resolve()
        if path in chain or len(chain) >= MOST_FILES:
            notes.fail(common.line, "common", f"{common.value!r} includes itself; remove it", common.path)
        try:
            text = scene_text(path)
        except (OSError, ValueError) as error:
            notes.fail(common.line, "common", str(error), common.path)
        base = merged(_with_common(parse_json(text, notes, path), notes, files, [*chain, path]), node)
    base = base._replace(value={key: value for key, value in base.value.items() if key not in ("common", "patch")})
    return base if patch is None else _patched(base, Section(Node({"patch": patch}, patch.line, patch.path), "", notes), notes)


def _patched(base, section, notes):
    for change in section.sections("patch"):
        kind, pointer, value = change.text("op", ""), change.text("path", ""), change.node.value.get("value")
        change.take("value")
        line, path = change.node.line, change.node.path
        if kind not in ("add", "replace"):
            notes.fail(line, "patch", f"the operation {kind[:40]!r} is not supported; supported are add and replace", path)
        change.end()
        keys = pointer.split("/")
        if keys[0] or len(keys) > DEEPEST:
            notes.fail(line, "patch", f"the path {pointer[:200]!r} must begin with '/', and have at most {DEEPEST} parts", path)
        if value is None:
            notes.fail(line, "patch", "the value is missing", path)
        try:
            base = patched(base, keys[1:], value, add=kind == "add")
        except KeyError:
            notes.fail(line, "patch", f"there is no {pointer[:200]!r} to {'add to' if kind == 'add' else kind}", path)
    return base


# ---- settings ------------------------------------------------------------------------------------------------------------------


def _time(section, given):
    """dt, the interval of steps, the duration and the arguments of the integrator."""
    notes, line, path = section.notes, section.node.line, section.node.path
    if not given:
        return None, 1.0, 1.0, {}
    end, dt, steps = (section.number(key, above=0.0) for key in ("tend", "dt", "time_steps"))
    if section.number("t0", 0.0) != 0.0:
        notes.refuse(line, "time/t0", "a start other than 0 s is not supported; give simulation(start_time=)", path)
    if sum(value is not None for value in (end, dt, steps)) < 2:
        notes.fail(line, "time", "give two of tend, dt and time_steps", path)
    dt = end / steps if dt is None else dt
    end = dt * steps if end is None else end
    still = section.flag("quasistatic", False)
    node = section.take("integrator")
    options: dict[str, Any] = {}
    if node is not None:
        name, order = node.value, 1
        if isinstance(name, dict):
            own = Section(node, "time/integrator", notes)
            name, order = own.text("type", ""), int(own.number("steps", 1.0))
            own.refuse("gamma", "only gamma = 0.5 is supported")
            own.refuse("beta", "only beta = 0.25 is supported")
            own.end()
        known = {"ImplicitEuler": "euler", "BDF": f"bdf{order}", "BDF1": "euler", "BDF2": "bdf2", "ImplicitNewmark": "newmark"}
        chosen = known.get(str(name), str(name)[:40])
        options = integrator_options("euler" if chosen == "bdf1" or still else chosen, notes, node.line, "time/integrator")
    section.end()
    return None if still else dt, dt, end, options


def _solver(section):
    """Passes of friction, and whether masses are lumped; all else is ignored by name."""
    contact, advanced = section.section("contact"), section.section("advanced")
    passes = int(max(min(contact.number("friction_iterations", 1.0), 1000.0), -1.0))
    if passes < 1:
        contact.notes.replace(contact.node.line, "solver/contact/friction_iterations", f"friction has {PASSES} passes", contact.node.path)
        passes = PASSES
    if (stiffness := contact.take("barrier_stiffness")) is not None and stiffness.value != "adaptive":
        contact.notes.replace(stiffness.line, "solver/contact/barrier_stiffness", "replaced by stiffness='auto'", stiffness.path)
    section.refuse("rayleigh_damping", "Rayleigh damping is not supported; set Body.damping")
    lumped = advanced.flag("lump_mass_matrix", False)
    for part in (contact, advanced, section):
        part.ignore(SOLVER, *list(part.node.value))
    return passes, lumped


def _order(section):
    node = section.take("discr_order")
    if node is None:
        items = []
    elif isinstance(node.value, list):
        items = [Section(item, "space/discr_order", section.notes).take("order") for item in node.value]
    else:
        items = [node]
    for item in items:
        if item is not None and section.number_of(item, "discr_order") != 1.0:
            section.notes.refuse(
                item.line, "space/discr_order", f"elements of order {item.value} are not supported, only of order 1", item.path
            )
    section.end()


def _refuse_flat(conditions):
    """Refuse a scene in the plane, whose load has two numbers."""
    node = conditions.node.value.get("rhs")
    if node is not None and isinstance(node.value, list) and len(node.value) == 2:
        conditions.notes.fail(node.line, "boundary_conditions/rhs", "two-dimensional scenes are not supported", node.path)


def _contact(section, passes):
    enabled = section.flag("enabled", False)
    distance = section.number("dhat", 1e-3, above=0.0)
    friction, speed = section.number("friction_coefficient", 0.0, minimum=0.0), section.number("epsv", 1e-3, above=0.0)
    section.refuse("collision_mesh", "a collision mesh of its own is not supported; see ProxyContact")
    for key in ("periodic", "adhesion", "use_gcp_formulation"):
        if (node := section.take(key)) is not None and node.value is not False:
            section.refuse(key, "this form of contact is not supported", node)
    section.ignore("BarrierContact weighs pairs by areas and computes its stiffness", "use_convergent_formulation", "use_area_weighting")
    section.ignore("it refers to a distance that is not given", "dhat_percentage")
    section.ignore("the barrier of pdgpu has its own form", "use_improved_max_operator", "use_physical_barrier")
    section.end()
    if not enabled:
        return None
    return BarrierContact(distance, friction=friction, friction_velocity=speed, friction_lags=passes)


def _ids_of(section, key="id"):
    """A list of ids, or "all"."""
    node = section.take(key)
    if node is None or node.value == "all":
        return "all"
    items = node.value if isinstance(node.value, list) else [node]
    return [int(section.number_of(item, key)) for item in items]


def _formulas(section, key):
    """Three formulas of a member, and its node."""
    node = section.take(key)
    if node is None:
        section.notes.fail(section.node.line, section.place(key), "it is missing", section.node.path)
    found = []
    for item in section.list_of(node, key, 3):
        try:
            found.append(Expression(item.value))
        except ValueError as error:
            section.notes.fail(item.line, section.place(key), f"{str(item.value)[:60]!r}: {error}", item.path)
    return tuple(found), node


def _velocities(section):
    for part in section.sections("velocity"):
        ids = _ids_of(part)
        formulas, _ = _formulas(part, "value")
        part.end()
        yield ids, formulas
    for key in ("solution", "acceleration"):
        section.refuse(key, "this initial condition is not supported; give simulation(positions=, velocities=)")
    section.end()


def _displacements(section, key) -> Iterator[tuple[Any, Any, Any, Node]]:
    """(ids, formulas, held axes, node) of each entry."""
    for part in section.sections(key):
        ids = _ids_of(part)
        formulas, node = _formulas(part, "value")
        axes = part.take("dimension")
        held = [True] * 3 if axes is None else [item.value is True for item in part.list_of(axes, "dimension", 3)]
        for other in ("interpolation", "time_reference"):
            part.refuse(other, "interpolation of boundary values in time is not supported; write a formula in t")
        part.end()
        yield ids, formulas, held, node


def _materials(root, notes):
    """(ids, class, young, poisson, density, node) of each material."""
    for part in root.sections("materials"):
        ids, name = _ids_of(part), part.text("type", "")
        if name not in MATERIALS:
            text = f"the material {name[:40]!r} is not supported; supported are {', '.join(MATERIALS)}"
            notes.fail(part.node.line, part.place("type"), text, part.node.path)
        young, poisson, density = (part.number(key, above=above) for key, above in (("E", 0.0), ("nu", None), ("rho", 0.0)))
        if young is None and part.has("mu"):
            mu, lam = part.number("mu", above=0.0), part.number("lambda", 0.0, minimum=0.0)
            young, poisson = mu * (3.0 * lam + 2.0 * mu) / (lam + mu), lam / (2.0 * (lam + mu))
        if young is None or poisson is None:
            notes.fail(part.node.line, part.where, "give E and nu, or mu and lambda", part.node.path)
        part.refuse("phi", "viscosity is not supported")
        part.refuse("psi", "viscosity is not supported")
        part.end()
        yield ids, MATERIALS[name], young, poisson, 1.0 if density is None else density, part.node


# ---- bodies and obstacles ------------------------------------------------------------------------------------------------------


def _add_body(scene, geometry: Geometry, materials, velocities, notes):
    part, where = geometry.part, f"{geometry.where}/volume_selection"
    line, path = geometry.node.line, geometry.node.path
    constants = np.zeros((len(part.tets), 3))
    chosen: list[Any] = []
    for number in np.unique(geometry.body_ids):
        found = [given for given in materials if given[0] == "all" or int(number) in given[0]]
        if not found:
            notes.fail(line, where, f"there is no material of the id {int(number)}", path)
        constants[geometry.body_ids == number] = found[-1][2:5]
        chosen.append(found[-1])
    if len({given[1] for given in chosen}) > 1:
        notes.refuse(line, where, "different types of materials in one mesh are not supported; use one mesh for each", path)
    node = chosen[0][5]
    one = len(chosen) == 1
    young, poisson, density = chosen[0][2:5] if one else constants.T
    material = material_of(chosen[0][1], young, poisson, notes, node.line, "materials", node.path)
    velocity = np.zeros((len(geometry.points), 3))
    for ids, formulas in velocities:
        tets = part.tets if ids == "all" else part.tets[np.isin(geometry.body_ids, ids)]
        rows = np.unique(tets)
        velocity[rows] = np.stack([formula(geometry.points[rows], 0.0) for formula in formulas], axis=1)
    if not np.isfinite(velocity).all():
        notes.fail(line, "initial_conditions/velocity", f"the velocity of {geometry.name!r} is not finite", path)
    mesh = Mesh(geometry.points, tets=part.tets)
    return scene.add_solid(mesh, material, density=density, name=geometry.name, velocity=velocity)


def _pin(body, geometry, pinned, notes):
    """Pin vertices; entries that hold some coordinates only are slides, if they do not move."""
    held = np.zeros(len(geometry.points), dtype=bool)
    for ids, formulas, axes, node in pinned:
        rows = geometry.vertices(ids)
        rows = rows[~held[rows]]
        if not len(rows):
            continue
        if all(axes):
            still = all(formula.is_zero for formula in formulas)
            body.pin(rows, None if still else Displacement(formulas))
            held[rows] = True
            continue
        fixed = [k for k in range(3) if axes[k]]
        if any(not formulas[k].is_zero for k in fixed):
            notes.refuse(
                node.line, "dirichlet_boundary", "some coordinates of vertices cannot be moved, only held at 0; hold all three", node.path
            )
            continue
        if fixed:
            axis = np.eye(3)
            body.slide(rows, **({"plane": axis[fixed[0]]} if len(fixed) == 1 else {"line": axis[({0, 1, 2} - set(fixed)).pop()]}))
            held[rows] = True


def _add_obstacle(scene, geometry, moved, notes):
    if geometry.plane is not None:
        scene.add_obstacle(Plane(*geometry.plane), name=geometry.name)
        return
    motion = geometry.sequence
    if motion is None and geometry.surface_id is not None:
        for ids, formulas, axes, node in moved:
            if ids == "all" or geometry.surface_id in ids:
                if not all(axes):
                    notes.refuse(node.line, "obstacle_displacements", "an obstacle moves in all coordinates", node.path)
                elif not all(formula.is_zero for formula in formulas):
                    motion = Displacement(formulas)
                break
    add_obstacle_part(scene, geometry.part, geometry.points, motion, geometry.name)
