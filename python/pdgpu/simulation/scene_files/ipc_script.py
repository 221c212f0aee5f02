"""The text scripts of IPC: their lines as numbers and names [Li et al. 2020, Incremental Potential Contact; github.com/ipc-sim/IPC]."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pdgpu.simulation.scene_files.motions import of_angles
from pdgpu.simulation.scene_files.notes import SceneNotes, Words

if TYPE_CHECKING:
    from typing import Any

    from pdgpu.types import Floats

__all__ = ["IpcScript", "MeshObstacle", "PlaneObstacle", "Shape", "VertexBox", "read_script"]

MOST_SHAPES = 100_000
# stiffness, first and last distance of the barrier, a number that is not read, first and last speed of friction
TUNING = (0.0, 1e-3, 1e-3, 1e-9, 1e-3, 1e-3)
BARRIER = ("interiorPoint", "IP")
IGNORED = (
    dict.fromkeys(("view", "zoom", "cameraTracking", "playBackSpeed", "appendStr", "disableCout"), "it concerns pictures and output")
    | dict.fromkeys(("linearSolver", "linSysSolver", "warmStart"), "the solver of pdgpu has its own; give simulation(solver=)")
    | dict.fromkeys(("CCDMethod", "ccdMethod", "CCDTolerance", "ccdTolerance"), "the step limiter of pdgpu is conservative")
    | dict.fromkeys(
        ("constraintType", "constraintOffset", "QPSolver", "useActiveSetConvergence", "noActiveSetConvergence"),
        "it is a setting of QP and SQP alone",
    )
    | dict.fromkeys(("timeStepper", "resolution", "inexactSolve"), "IPC itself does not read it")
    | dict.fromkeys(("kappaMinMultiplier", "minBarrierStiffnessScale"), "BarrierContact computes its stiffness")
)


@dataclass
class VertexBox:
    """Vertices of a shape by a box relative to its bounding box, with velocities (DBC) or an acceleration (NBC), and a time range."""

    line: int
    keyword: str
    lower: Floats
    upper: Floats
    linear: Floats  # m/s; of NBC m/s^2
    angular: Floats  # rad/s
    begin: float
    end: float


@dataclass
class Shape:
    """A mesh of the script: file, placement, and what follows on its line."""

    line: int
    file: str
    shift: Floats
    turn: Floats
    scale: Floats
    material: tuple[float, float, float] | None = None  # density, Young's modulus, Poisson's ratio
    linear: Floats | None = None
    angular: Floats | None = None
    initial: tuple[Floats, Floats] | None = None
    sequence: str | None = None
    boxes: list[VertexBox] = field(default_factory=list)


@dataclass
class PlaneObstacle:
    """A half-space."""

    line: int
    point: Floats
    normal: Floats
    friction: float


@dataclass
class MeshObstacle:
    """A mesh that is scaled to a size and centred at a point."""

    line: int
    file: str
    origin: Floats
    scale: float
    friction: float
    turn: Floats


@dataclass
class IpcScript:
    """All settings of a script, by default those of IPC. `lines` has the line of each keyword."""

    energy: str = "NH"
    integrator: str = "BE"
    duration: float = 5.0
    dt: float = 0.025
    density: float = 1000.0
    young: float = 1e5
    poisson: float = 0.4
    gravity: bool = True
    damping: float = 0.0  # s^3, "dampingStiff"
    damping_ratio: float = 0.0
    size: float = -1.0
    handle: float = 0.01
    model_turn: tuple[Floats, float] | None = None
    script: str = "null"
    script_numbers: list[float] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    planes: list[PlaneObstacle] = field(default_factory=list)
    meshes: list[MeshObstacle] = field(default_factory=list)
    pinned_range: tuple[float, float] = (0.0, np.inf)
    loaded_range: tuple[float, float] = (0.0, np.inf)
    self_contact: bool = True
    friction: float = 0.0
    tuning: list[float] = field(default_factory=lambda: list(TUNING))
    absolute: bool = False
    friction_passes: int = 1
    lines: dict[str, int] = field(default_factory=dict)


class _Lines:
    """The lines of a text with their numbers; `number` is that of the last one taken."""

    def __init__(self, text, notes):
        self._lines, self.number, self._notes = text.splitlines(), 0, notes

    def __bool__(self):
        return self.number < len(self._lines)

    def words(self):
        """The words of the next line."""
        self.number += 1
        return self._lines[self.number - 1].split()

    def numbers(self, n, line, keyword):
        """n numbers from the following lines."""
        found: list[float] = []
        while len(found) < n:
            if not self:
                self._notes.fail(line, keyword, f"{n} numbers must follow, and the file ends after {len(found)}; was it cut off?")
            words = Words(self._notes, self.number + 1, [keyword, *self.words()])
            while len(words) and len(found) < n:
                found.append(words.number("number"))
            words.end()
        return found


def read_script(text: str, notes: SceneNotes) -> IpcScript:
    """Parse a script; SceneFileError names the line of an error."""
    script, lines = IpcScript(), _Lines(text, notes)
    while lines:
        words = lines.words()
        if not words or words[0].startswith("#"):
            continue
        keyword, line = words[0], lines.number
        script.lines[keyword] = line
        row = Words(notes, line, words)
        if keyword in IGNORED:
            notes.ignore(line, keyword, IGNORED[keyword])
        elif keyword == "section":
            _section(row, lines, notes)
        elif keyword in ("shapes", "shape", "shapeMatrix"):
            {"shapes": _shapes, "shape": _shape, "shapeMatrix": _matrix}[keyword](script, row, lines, notes)
        elif keyword in _SETTERS:
            _SETTERS[keyword](script, row, lines)
            row.end()
        elif keyword == "restart":
            notes.refuse(line, keyword, "states of IPC are not read; give simulation(positions=, velocities=)")
        else:
            notes.refuse(line, keyword[:40], "this keyword is not known; remove the line")
    return script


# ---- shapes --------------------------------------------------------------------------------------------------------------------


def _three(row, what):
    return np.array(row.numbers(what, 3))


def _placement(row):
    """Shift, rotation and scale of a shape."""
    return _three(row, "position"), of_angles(np.radians(_three(row, "rotation"))), _three(row, "scale")


def _source(row, notes):
    kind = row.word("the word 'input'")
    if kind != "input":
        notes.fail(row.line, row.keyword, f"expected 'input', got {kind[:40]!r}")


def _added(script, shapes, notes, line):
    if len(script.shapes) + len(shapes) > MOST_SHAPES:
        notes.fail(line, "shapes", f"more than {MOST_SHAPES} shapes; use fewer")
    script.shapes += shapes


def _shape(script, row, lines, notes):
    _source(row, notes)
    none, one = np.zeros(3), np.ones(3)
    _added(script, [Shape(row.line, row.word("the path of a mesh"), none, np.eye(3), one)], notes, row.line)
    row.end()


def _shapes(script, row, lines, notes):
    _source(row, notes)
    wanted, found = row.count("number of shapes", MOST_SHAPES), []
    row.end()
    while len(found) < wanted:
        if not lines:
            notes.fail(row.line, "shapes", f"{wanted} shapes must follow, and the file ends after {len(found)}; was it cut off?")
        words = lines.words()
        if not words or words[0].startswith("#"):
            continue
        line = lines.number
        words = _joined(words, lines, notes)
        own = Words(notes, line, words)
        shape = Shape(line, words[0], *_placement(own))
        while len(own):
            _extra(shape, own, notes)
        found.append(shape)
    _added(script, found, notes, row.line)


def _joined(words, lines, notes):
    """The words of a line and of those that follow after a backslash, without comments."""
    kept: list[str] = []
    while True:
        comment = next((k for k, word in enumerate(words) if word.startswith("#")), len(words))
        kept += [word for word in words[:comment] if word != "\\"]
        if "\\" not in words:
            return kept
        if not lines:
            notes.fail(lines.number, kept[0], "a line must follow the backslash; was the file cut off?")
        words = lines.words()


def _extra(shape, row, notes):
    """One of the settings that follow the placement of a shape."""
    word = row.keyword = row.word("a keyword")
    if word == "material":
        density, young = row.number("density"), row.number("Young's modulus")
        poisson = row.number("Poisson's ratio")
        if density > 0.0 and young > 0.0:
            shape.material = (density, young, poisson)
        else:
            notes.replace(row.line, word, "density and Young's modulus are not positive, so it is the material of the scene, as in IPC")
    elif word == "linearVelocity":
        shape.linear = _three(row, "velocity")
    elif word == "angularVelocity":
        shape.angular = np.radians(_three(row, "angular velocity"))
    elif word == "initVel":
        shape.initial = (_three(row, "velocity"), np.radians(_three(row, "angular velocity")))
    elif word in ("DBC", "NBC"):
        lower, upper, linear = _three(row, "lower corner"), _three(row, "upper corner"), _three(row, "vector")
        angular = np.radians(_three(row, "angular velocity")) if word == "DBC" else np.zeros(3)
        begin, end = row.optional_number(0.0), row.optional_number(np.inf)
        shape.boxes.append(VertexBox(row.line, word, lower, upper, linear, angular, begin, end))
    elif word == "meshSeq":
        shape.sequence = row.word("the path of a folder")
    else:
        notes.refuse(row.line, word[:40], "this setting of a shape is not known; remove it")


def _matrix(script, row, lines, notes):
    _source(row, notes)
    counts = [row.count("number of shapes", MOST_SHAPES) for _ in range(3)]
    origin = np.array([row.optional_number(0.0) for _ in range(3)])
    row.end()
    if np.prod(counts) > MOST_SHAPES:
        notes.fail(row.line, "shapeMatrix", f"{np.prod(counts)} shapes are more than {MOST_SHAPES}; use fewer")
    words = lines.words() if lines else []
    if not words:
        notes.fail(row.line, "shapeMatrix", "a line with a shape must follow; was the file cut off?")
    own = Words(notes, lines.number, words)
    step, turn, scale = _placement(own)
    pattern = Shape(lines.number, words[0], origin, turn, scale)
    while own.next and not own.next.startswith("#"):
        if own.next != "material":
            notes.refuse(
                own.line, own.next[:40], "shapeMatrix has no setting but material; remove it, or list the shapes by 'shapes input N'"
            )
            break
        _extra(pattern, own, notes)
    places = np.indices(counts).reshape(3, -1).T
    _added(script, [Shape(own.line, words[0], origin + step * place, turn, scale, pattern.material) for place in places], notes, row.line)


# ---- settings ------------------------------------------------------------------------------------------------------------------


def _section(row, lines, notes):
    """Keep a section for the barrier, and skip one for other solvers."""
    names = []
    while len(row):
        name = row.word("a name")
        if name.startswith("#"):
            break
        names.append(name)
    if any(name in (*BARRIER, "end") for name in names):
        return
    notes.ignore(row.line, "section", f"it is for {', '.join(names) or 'no solver'}, and contact is a barrier here")
    while lines:
        if lines.words()[:2] == ["section", "end"]:
            return


def _solver(script, row, lines):
    name = row.word("a name")
    if name not in BARRIER:
        row.notes.replace(row.line, "constraintSolver", f"{name[:40]} is replaced by BarrierContact, with the distances of the script")


def _integrator(script, row, lines):
    script.integrator = row.word("a name")
    beta, gamma = row.optional_number(0.25), row.optional_number(0.5)
    if (beta, gamma) != (0.25, 0.5):
        row.notes.refuse(row.line, "timeIntegration", f"Newmark's method with beta = {beta:g}, gamma = {gamma:g} is not supported")


def _time(script, row, lines):
    script.duration, script.dt = row.number("duration, s", above=0.0), row.number("time step, s", above=0.0)


def _stiffness(script, row, lines):
    script.young, script.poisson = row.number("Young's modulus, Pa", above=0.0), row.number("Poisson's ratio")


def _model_turn(script, row, lines):
    axis, angle = _three(row, "axis"), row.number("angle, degrees")
    script.model_turn = (axis, np.radians(angle)) if angle != 0.0 else None
    if angle != 0.0 and not np.linalg.norm(axis) > 0.0:
        row.notes.fail(row.line, "rotateModel", "the axis has no length")


def _script(script, row, lines):
    script.script = row.word("a name")
    n = row.count("number of parameters", 1000) if row.next and not row.next.startswith("#") else 0
    script.script_numbers = row.numbers("parameters", n)


def _ground(script, row, lines):
    friction, height = row.number("friction", minimum=0.0), row.number("height, m")
    script.planes.append(PlaneObstacle(row.line, np.array([0.0, height, 0.0]), np.array([0.0, 1.0, 0.0]), friction))


def _half_space(script, row, lines):
    point, normal = _three(row, "point"), _three(row, "normal")
    if not np.linalg.norm(normal) > 0.0:
        row.notes.fail(row.line, "halfSpace", "the normal has no length")
    row.number("stiffness")
    script.planes.append(PlaneObstacle(row.line, point, normal, row.number("friction", minimum=0.0)))


def _mesh_obstacle(script, row, lines):
    file, origin, scale = row.word("the path of a mesh"), _three(row, "origin"), row.number("scale", above=0.0)
    row.number("stiffness")
    friction, turn = row.number("friction", minimum=0.0), np.eye(3)
    if row.next == "rotate":
        row.word("rotate")
        turn = of_angles(np.radians(_three(row, "rotation")))
    script.meshes.append(MeshObstacle(row.line, file, origin, scale, friction, turn))


def _tuning(script, row, lines):
    given = lines.numbers(row.count("number of values", 100), row.line, "tuning")
    script.tuning = [*given, *TUNING[len(given) :]]


def _tolerance(script, row, lines):
    lines.numbers(row.count("number of values", 100_000), row.line, "tol")
    row.notes.ignore(row.line, "tol", "the solver of pdgpu has its own tolerance; give simulation(solver=)")


def _setter(name, what, minimum=None, above=None):
    def keep(script: IpcScript, row: Words, lines: Any) -> None:
        setattr(script, name, row.number(what, minimum, above))

    return keep


def _constant(name, value):
    def keep(script: IpcScript, row: Words, lines: Any) -> None:
        setattr(script, name, value)

    return keep


def _range(name):
    def keep(script: IpcScript, row: Words, lines: Any) -> None:
        setattr(script, name, (row.number("begin, s"), row.number("end, s")))

    return keep


def _width(first):
    def keep(script: IpcScript, row: Words, lines: Any) -> None:
        script.tuning[first] = script.tuning[first + 1] = row.number("value", above=0.0)

    return keep


def _energy(script, row, lines):
    script.energy = row.word("a name")


_SETTERS: dict[str, Any] = {
    "energy": _energy,
    "timeIntegration": _integrator,
    "size": _setter("size", "size, m"),
    "time": _time,
    "density": _setter("density", "density, kg/m^3", above=0.0),
    "stiffness": _stiffness,
    "turnOffGravity": _constant("gravity", False),
    "dampingStiff": _setter("damping", "damping, s^3"),
    "dampingRatio": _setter("damping_ratio", "ratio"),
    "script": _script,
    "DBCTimeRange": _range("pinned_range"),
    "NBCTimeRange": _range("loaded_range"),
    "ground": _ground,
    "halfSpace": _half_space,
    "meshCO": _mesh_obstacle,
    "selfCollisionOn": _constant("self_contact", True),
    "selfCollisionOff": _constant("self_contact", False),
    "selfFric": _setter("friction", "friction"),
    "constraintSolver": _solver,
    "rotateModel": _model_turn,
    "handleRatio": _setter("handle", "ratio", above=0.0),
    "tuning": _tuning,
    "tol": _tolerance,
    "dHat": _width(1),
    "epsv": _width(4),
    "fricIterAmt": _setter("friction_passes", "number"),
    "useAbsParameters": _constant("absolute", True),
}
