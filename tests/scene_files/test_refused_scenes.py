"""Scene files with faults: the error names the line, and nothing crashes."""

import os
import random
import warnings

import numpy as np
import pytest
from scene_file_meshes import FIXTURES, quiet_read, written

import pdgpu
from pdgpu.simulation.scene_files.expressions import Expression

SHAPE = "shapes input 1\nblock.msh 0 0 0 0 0 0 1 1 1\n"
BODY = '"geometry": {"mesh": "block.msh"},\n"materials": {"type": "NeoHookean", "E": 1e4, "nu": 0.3}'

SCRIPTS = [
    ("magic 3\n" + SHAPE, 1, "magic", "not known; remove the line; strict=False skips it"),
    (SHAPE + "time 1\n", 3, "time", "time step, s is missing; was the line cut off"),
    (SHAPE + "time 1 0\n", 3, "time", "must be greater than 0, got 0"),
    (SHAPE + "time 1 x\n", 3, "time", "expected a number, got 'x'"),
    (SHAPE + "density nan\n", 3, "density", "expected a number, got 'nan'"),
    (SHAPE + "density 1e999\n", 3, "density", "1e999 is too large"),
    (SHAPE + "stiffness 1e5 0.5\n", 3, "stiffness", "poisson: must be less than 0.5"),
    (SHAPE + "energy STVK\n", 3, "energy", "expected NH or FCR, got 'STVK'"),
    (SHAPE + "timeIntegration XY\n", 3, "timeIntegration", "expected BE or NM"),
    (SHAPE + "script moon\n", 3, "script", "'moon' of IPC is not supported; supported are null, fall"),
    (SHAPE + "script DCOSquash\n", 3, "script", "needs 3 shapes, and there are 1"),
    (SHAPE + "restart status1\n", 3, "restart", "states of IPC are not read"),
    (SHAPE + "tuning 3\n0\n1e-3\n", 3, "tuning", "the file ends after 2"),
    (SHAPE + "tuning 2\n0 1e-3 7\nmagic\n", 5, "magic", "not known"),
    (SHAPE + "halfSpace 0 0 0 0 0 0 1 0\n", 3, "halfSpace", "the normal has no length"),
    (SHAPE + "ground -1 0\n", 3, "ground", "friction: must be at least 0"),
    (SHAPE + "selfCollisionOff\nground 0 -1\n", 3, "selfCollisionOff", "contact with obstacles alone is not supported"),
    (SHAPE + "rotateModel 0 0 0 30\n", 3, "rotateModel", "the axis has no length"),
    (SHAPE + "section QP\ntime 1\n", None, None, None),  # a section without an end reaches to the end of the file
    ("shapes input 2\nblock.msh 0 0 0 0 0 0 1 1 1\n", 1, "shapes", "2 shapes must follow, and the file ends after 1"),
    ("shapes output 1\n", 1, "shapes", "expected 'input', got 'output'"),
    ("shapes input 1e9\n", 1, "shapes", "expected a whole number up to 100000"),
    ("shapes input 1\nblock.msh 0 0 0 0 0 0 1 1\n", 2, "block.msh", "scale, number 3 of 3 is missing"),
    ("shapes input 1\nblock.msh 0 0 0 0 0 0 1 1 0\n", 2, "shapes", "zero volume"),
    ("shapes input 1\nblock.msh 0 0 0 0 0 0 1 1 1 colour 3\n", 2, "colour", "this setting of a shape is not known"),
    ("shapes input 1\nblock.msh 0 0 0 0 0 0 1 1 1 DBC 0 0 0 1 1 1 0 0\n", 2, "DBC", "vector, number 3 of 3 is missing"),
    ("shapes input 1\nblock.msh 0 0 0 0 0 0 1 1 1 DBC 0 0 0 1 1 1 0 0 0 0 0 0 0 1\n", 2, "DBC", "pins hold always; cover the duration"),
    ("shapes input 1\nblock.msh 0 0 0 0 0 0 1 1 1 \\\n", 2, "block.msh", "a line must follow the backslash"),
    ("shapes input 1\nlost.msh 0 0 0 0 0 0 1 1 1\n", 2, "shapes", "there is no file 'lost.msh'"),
    ("shapes input 1\nblock.xyz 0 0 0 0 0 0 1 1 1\n", 2, "shapes", "the format '.xyz' is not one of IPC"),
    ("shapes input 1\ntile.obj 0 0 0 0 0 0 1 1 1\n", 2, "shapes", "no shape deforms"),
    (SHAPE + "shapes input 1\ndots.pt 0 0 0 0 0 0 1 1 1\nmagic\n", 5, "magic", "not known"),
    (SHAPE + "meshCO tile.obj 0 0 0 0 1 0\n", 3, "meshCO", "scale: must be greater than 0"),
    ("time 1 0.1\n", 1, "shapes", "the script has no shapes"),
    (
        "shapeMatrix input 2 1 1\nblock.msh 1.5 0 0 0 0 0 1 1 1 initVel 1 0 0 0 0 0\n",
        2,
        "initVel",
        "shapeMatrix has no setting but material",
    ),
    ("shapeMatrix input 2 1 1\nblock.msh 1.5 0 0 0 0 0 1 1 1 material 1 1 0.1 NBC 0\n", 2, "NBC", "shapeMatrix has no setting but"),
    ("shapes input 1\npointer.obj 0 0 0 0 0 0 1 1 1\n", 2, "shapes", "is a pointer of Git LFS"),
    ("shapes input 1\npointer.pt 0 0 0 0 0 0 1 1 1\n", 2, "shapes", "is a pointer of Git LFS"),
    ("shapes input 1\nflat.obj 0 0 0 0 0 0 1 1 1\n", 2, "shapes", "line 1: 'v 0 0': a vertex needs three coordinates"),
    ("shapes input 1\nnothing.obj 0 0 0 0 0 0 1 1 1\n", 2, "shapes", "nothing.obj: points: there are none; give one or more"),
    ("shapes input 1\nnothing.pt 0 0 0 0 0 0 1 1 1\n", 2, "shapes", "nothing.pt: it has no points"),
]

OBJECTS = [
    (f'{{{BODY},\n"magic": 1}}', 3, "magic", "this key is not known"),
    (f'{{{BODY},\n"geometry": 1}}', 3, "geometry", "occurs twice, first in line 1"),
    (f'{{{BODY},\n"time": {{"dt": 0.1}}}}', 3, "time", "give two of tend, dt and time_steps"),
    (f'{{{BODY},\n"time": {{"dt": 0.1, "tend": "1"}}}}', 3, "time/tend", "expected a number, got '1'"),
    (f'{{{BODY},\n"time": {{"dt": 0.1, "tend": 1e999}}}}', 3, "JSON", "1e999 is too large"),
    (f'{{{BODY},\n"time": {{"dt": 0.1, "tend": 1, "integrator": "Magic"}}}}', 3, "time/integrator", "Magic is not supported"),
    (f'{{{BODY},\n"contact": {{"dhat": -1}}}}', 3, "contact/dhat", "must be greater than 0, got -1"),
    (f'{{{BODY},\n"contact": {{"enabled": 1}}}}', 3, "contact/enabled", "expected true or false, got a number"),
    (f'{{{BODY},\n"space": {{"discr_order": 2}}}}', 3, "space/discr_order", "elements of order 2 are not supported"),
    (f'{{{BODY},\n"common": "lost.json"}}', 3, "common", "there is no file 'lost.json'"),
    (f'{{{BODY},\n"common": "circle.json"}}', 1, "common", "includes itself"),
    (f'{{{BODY},\n"boundary_conditions": {{"rhs": [0, 1]}}}}', 3, "boundary_conditions/rhs", "two-dimensional scenes"),
    (f'{{{BODY},\n"boundary_conditions": {{"neumann_boundary": []}}}}', 3, "boundary_conditions/neumann_boundary", "not supported"),
    (f'{{{BODY},\n"patch": [{{"op": "remove", "path": "/time"}}]}}', 3, "patch", "'remove' is not supported"),
    (f'{{{BODY},\n"patch": [{{"op": "replace", "path": "/a/b", "value": 1}}]}}', 3, "patch", "there is no '/a/b'"),
    (f'{{{BODY},\n"patch": [{{"op": "remove", "path": "/time"}}]}}', 3, "patch", "supported are add and replace"),
    (f'{{{BODY},\n"patch": [{{"op": "replace", "path": "/time", "value": {{}}}}]}}', 3, "patch", "there is no '/time' to replace"),
    (f'{{{BODY},\n"patch": [{{"op": "add", "path": "/time/dt", "value": 1}}]}}', 3, "patch", "there is no '/time/dt' to add"),
    (f'{{{BODY},\n"patch": [{{"op": "add", "path": "time", "value": {{}}}}]}}', 3, "patch", "'time' must begin with '/'"),
    (f'{{{BODY},\n"patch": [{{"op": "add", "path": "/time"}}]}}', 3, "patch", "the value is missing"),
    (f'{{{BODY},\n"patch": [{{"op": "add", "path": "/t", "value": 1, "form": ""}}]}}', 3, "patch/0/form", "this key is not known"),
    ('{"geometry":\n[{"mesh": "block.msh",\n"transformation": {"scale": 0}}]', 3, "JSON", "was the file cut off"),
    ('{"geometry":\n[{"mesh": "tile.obj"}]}', 2, "geometry/0/mesh", "shells are not supported"),
    ('{"geometry":\n[{"mesh": "block.msh", "n_refs": 1}]}', 2, "geometry/0/n_refs", "1 refinements are not supported"),
    ('{"geometry":\n[{"mesh": "block.msh", "is_obstacle": true}]}', 1, "geometry", "no mesh deforms"),
    ('{"geometry":\n{"mesh": "block.msh"}}', 2, "geometry/volume_selection", "there is no material of the id 0"),
    ('{"geometry":\n{"mesh": "block.msh", "transformation":\n{"rotation_mode": "spin", "rotation": [1, 2, 3]}}}', 3, "rotation", "'spin'"),
    ('{"geometry":\n{"mesh": "block.msh"},\n"materials": {"type": "Magic"}}', 3, "materials/type", "'Magic' is not supported"),
    ('{"geometry":\n{"mesh": "block.msh"},\n"materials": {"type": "NeoHookean", "E": 1}}', 3, "materials", "give E and nu"),
    ("{" * 100, 1, "JSON", "expected a key"),
    ("[" * 100, 1, "JSON", "nested more than 64 deep"),
    ("", 1, "JSON", "expected a value, got the end of the file"),
    ("{} x", 1, "JSON", "there is more after the end"),
]


def error_of(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(pdgpu.SceneFileError) as caught:
            pdgpu.read_scene(path, **options)
    return caught.value


@pytest.mark.parametrize(("text", "line", "keyword", "words"), SCRIPTS, ids=range(len(SCRIPTS)))
def test_faults_of_scripts(scenes_folder, text, line, keyword, words):
    """If not, a user looks for a fault in a file of a thousand lines."""
    path = written(scenes_folder, "fault.txt", text)
    if line is None:
        assert quiet_read(path).dt == 0.025
        return
    error = error_of(path)
    assert (error.line, error.keyword) == (line, keyword) and words in str(error)
    assert str(error).startswith(f"{path}:{line}: {keyword}: ") and isinstance(error, ValueError)


@pytest.mark.parametrize(("text", "line", "keyword", "words"), OBJECTS, ids=range(len(OBJECTS)))
def test_faults_of_json(scenes_folder, text, line, keyword, words):
    """If not, a user looks for a fault in a file of a thousand lines."""
    written(scenes_folder, "circle.json", '{"common": "circle.json"}')
    error = error_of(written(scenes_folder, "fault.json", text))
    assert error.line == line and keyword in error.keyword and words in str(error)


@pytest.mark.parametrize(
    ("mesh", "words"),
    [
        ('"mesh": "block.msh"', "there is no material of the id 0"),
        ('"mesh": "lost.msh"', "there is no file 'lost.msh'"),
        ('"mesh": "pointer.obj"', "is a pointer of Git LFS"),
        ('"mesh": "block.msh", "volume_selection": 5, "transformation": {"scale": [1, 1, 0]}', "zero volume"),
        ('"type": "plane", "normal": [0, 0, 0]', "normal"),
        ('"type": "mesh_sequence", "mesh_sequence": "no_folder", "is_obstacle": true', "there is no folder 'no_folder'"),
    ],
)
def test_faults_of_included_geometry(scenes_folder, mesh, words):
    """If not, a user looks for a fault in the file that includes the faulty one."""
    parts = written(scenes_folder, "parts.json", f'{{"geometry": [\n\n{{{mesh}}},\n{{"mesh": "block.msh", "volume_selection": 5}}]}}')
    text = '{"common": "parts.json", "materials": {"id": 5, "type": "NeoHookean", "E": 1e4, "nu": 0.3}}'
    error = error_of(written(scenes_folder, "including.json", text))
    assert (error.path, error.line) == (str(parts), 3) and words in str(error)


def test_included_files_that_are_no_text(scenes_folder):
    """If not, an included file is read without the checks of a scene file."""
    path = written(scenes_folder, "includes.json", f'{{{BODY},\n"common": "other.json"}}')
    other = scenes_folder / "other.json"
    for content, words in (
        (b'{\n"\xe9": 1}', f"{other}:2: is not UTF-8"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
        (b" " * (2**26 + 1), f"has {2**26 + 1} bytes, and scene files have at most"),
    ):
        other.write_bytes(content)
        error = error_of(path)
        assert (error.path, error.line, error.keyword) == (str(path), 3, "common") and words in str(error)


FORMULAS = [
    ("2*x+", "ends too early"),
    ("x y", "'y' is unexpected"),
    ("log(x)", "'log' is not known"),
    ("max(x)", "expected ','"),
    ("sin(", "ends too early"),
    ("__import__(x)", "is not known"),
    ("(" * 200, "nested more than 64"),
    ("x" * 20_000, "20000 characters"),
]


@pytest.mark.parametrize(("formula", "words"), FORMULAS, ids=range(len(FORMULAS)))
def test_faults_of_formulas(scenes_folder, formula, words):
    """If not, a formula with a fault moves a boundary."""
    text = f'{{{BODY},\n"boundary_conditions": {{"dirichlet_boundary": {{"id": 1, "value":\n[0, "{formula}", 0]}}}}}}'
    error = error_of(written(scenes_folder, "formula.json", text))
    assert error.line == 4 and words in str(error)


def test_values_of_formulas():
    """If not, signs, powers or functions of tinyexpr mean something else."""
    points = np.array([[2.0, 3.0, 0.5]])
    values = {
        "2^3^2": 64.0,  # from the left
        "-2^2": 4.0,  # the sign first
        "7%4+1e1*.5": 8.0,
        "x-y-z": -1.5,
        "x/y/z": 2.0 / 3.0 / 0.5,
        "--t": 4.0,
        "if(t-4, x, y)": 2.0,
        "if(t-5, x, y)": 3.0,
        "rotate_2D_x(x, y, pi/2)": -3.0,
        "rotate_2D_y(x, y, deg2rad(90))": 2.0,
        "smooth_abs(-x, 5)": 2.0 * np.tanh(10.0),
        "min(x, max(y, 9)) + atan2(0, 1) + ln(e)": 3.0,
    }
    for formula, value in values.items():
        assert Expression(formula)(points, 4.0)[0] == pytest.approx(value, abs=1e-12), formula
    assert Expression(0).is_zero and not Expression("x").is_zero
    assert Expression("x" + "+x" * 4999)(points, 0.0)[0] == 10_000.0
    assert Expression("z" + "*x/x" * 2000 + "^1" * 999)(points, 0.0)[0] == 0.5


def test_files_that_are_no_scenes(scenes_folder):
    """If not, the message is one of the decoder."""
    with pytest.raises(ValueError, match=r"scene.msh: unknown format of a scene; known are .txt"):
        pdgpu.read_scene(scenes_folder / "scene.msh")
    with pytest.raises(FileNotFoundError):
        pdgpu.read_scene(scenes_folder / "absent.txt")
    (scenes_folder / "latin.txt").write_bytes(b"time 1 0.1\n# \xe9t\xe9\n")
    with pytest.raises(ValueError, match=r"latin.txt:2: is not UTF-8"):
        pdgpu.read_scene(scenes_folder / "latin.txt")
    with pytest.raises(TypeError, match="strict"):
        pdgpu.read_scene(scenes_folder / "falls.txt", strict=1)
    (scenes_folder / "folder.txt").mkdir(exist_ok=True)
    with pytest.raises(IsADirectoryError):
        pdgpu.read_scene(scenes_folder / "folder.txt")
    marked = scenes_folder / "marked.txt"
    marked.write_bytes(b"\xef\xbb\xbf" + SHAPE.replace("\n", "\r\n").encode())
    assert quiet_read(marked).scene.n_vertices == 16


def test_meshes_in_other_folders(scenes_folder, tmp_path):
    """If not, scripts have to be next to their meshes."""
    below = scenes_folder / "a" / "b"
    below.mkdir(parents=True, exist_ok=True)
    assert quiet_read(written(below, "up.txt", SHAPE)).scene.n_vertices == 16
    away = written(tmp_path, "away.txt", SHAPE)
    assert quiet_read(away, root=scenes_folder).scene.n_vertices == 16
    assert "give root=" in str(error_of(away))


def faulty(text, chance):
    """A text with one to three faults."""
    for _ in range(chance.randint(1, 3)):
        kind, lines = chance.randrange(5), text.splitlines(keepends=True)
        if kind == 0:
            text = text[: chance.randrange(len(text) + 1)]
        elif kind == 1 and lines:
            k = chance.randrange(len(lines))
            text = "".join([*lines[:k], *[lines[k]] * chance.randint(0, 2), *lines[k + 1 :]])
        else:
            words = text.split(" ")
            k = chance.randrange(len(words))
            junk = ["nan", "1e999", "-1", "0", "", "1e80", "1e-300", "null", "[]", "{}", '"', "\\", "#", "section", "\x00", "1" * 400, "é"]
            words[k] = chance.choice(junk)
            text = " ".join(words)
    return text


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.iterdir() if path.name != "contact_and_solver.json"))
def test_garbage(scenes_folder, name):
    """If not, a damaged file ends the interpreter, or in an error that names no line."""
    original = (FIXTURES / name).read_text()
    outcomes = set()
    for seed in range(int(os.environ.get("PDGPU_FUZZ", "60"))):
        chance = random.Random(f"{name} {seed}")
        path = scenes_folder / f"garbage-{name}"
        path.write_text(faulty(original, chance))
        try:
            quiet_read(path, strict=chance.random() < 0.5)
            outcomes.add("read")
        except pdgpu.SceneFileError as error:
            assert error.line >= 1 and str(error).startswith(f"{error.path}:{error.line}: {error.keyword}: ")
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}
