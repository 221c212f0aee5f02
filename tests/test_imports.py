"""The modules of the package and what they take from each other, read from their source.

An edge is an import anywhere in a module, in a function too: what is imported late is needed all the same. Imports for type checkers alone
are left out. Modules are named by their path below the package: `scene.bodies`. The files `__init__.py` of the folders hold public names
only; modules import from the file that defines a name.
"""

import ast
import itertools
import subprocess
import sys
from pathlib import Path

import pdgpu

PACKAGE = Path(pdgpu.__file__).parent
FILES = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in sorted(PACKAGE.rglob("*.py"))}
MODULES = {name for name in FILES if not name.endswith("__init__")}
COMPILED = {"_host", "_cpu_f32", "_cpu_f64", "_cuda_f32", "_cuda_f64"}
ON_TOP = {"__main__", "command_line"}
# A folder uses those above it in this list, and no other.
LAYERS = (
    *("_internal", "linear", "collision", "mesh", "materials", "scene", "verify", "contact", "solvers"),
    *("viz", "results", "simulation", "study"),
)


def for_checkers_alone(node):
    """Whether this is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports(node):
    """(module, line) of every import below a node."""
    if for_checkers_alone(node):
        for other in node.orelse:
            yield from imports(other)
    elif isinstance(node, ast.ImportFrom) and node.level:
        raise AssertionError(f"a relative import at line {node.lineno}: say where it is from")
    elif isinstance(node, ast.ImportFrom) and node.module == "pdgpu":
        for alias in node.names:
            yield (alias.name if alias.name in MODULES | COMPILED else "__init__"), node.lineno
    elif isinstance(node, ast.ImportFrom) and node.module.startswith("pdgpu."):
        module = node.module.removeprefix("pdgpu.")
        for alias in node.names:
            yield (f"{module}.{alias.name}" if f"{module}.{alias.name}" in MODULES else module), node.lineno
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == "pdgpu":
                yield (alias.name.removeprefix("pdgpu.") if "." in alias.name else "__init__"), node.lineno
    else:
        for child in ast.iter_child_nodes(node):
            yield from imports(child)


def graph():
    """Module -> {module it imports: line}."""
    edges = {}
    for name in sorted(MODULES):
        found = edges[name] = {}
        for other, line in imports(ast.parse(FILES[name].read_text())):
            found.setdefault(other, line)
    return edges


def circle(edges):
    """A circle of imports as a list of modules, the first again at the end; None where there is none."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        path.append(name)
        for other in edges.get(name, ()):
            if found := visit(other):
                return found
        path.pop()
        done.add(name)
        return None

    for name in edges:
        if found := visit(name):
            return found
    return None


def folder(name):
    """The folder of the package that a module lies in; None: the package itself."""
    return name.split(".")[0] if "." in name else None


def test_a_circle_is_found():
    """If not, the test below looks at nothing."""
    code = (
        "if TYPE_CHECKING:\n    from pdgpu.a import b\n"
        "def f():\n    from pdgpu.scene.scene import Scene\n    from pdgpu.mesh import shapes\n"
        "from pdgpu import _host, command_line, Mesh\n"
    )
    assert [name for name, _ in imports(ast.parse(code))] == ["scene.scene", "mesh.shapes", "_host", "command_line", "__init__"]
    assert circle({"a": ["b", "c"], "b": ["c"], "c": ["d"], "d": []}) is None
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert len(graph()) > 90 and "scene.bodies" in graph()["simulation.cutting"]


def test_folders_use_those_above_them():
    """If not, no folder can be read or tested before all the others are."""
    assert set(LAYERS) == {folder(name) for name in MODULES} - {None}
    for name, others in graph().items():
        for other, line in others.items():
            if folder(name) and folder(other):
                assert LAYERS.index(folder(other)) <= LAYERS.index(folder(name)), f"{name} imports {other} at line {line}"


def test_folders_and_files_stay_small():
    """If not, a stranger does not find the place to change."""
    folders = [path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"]
    assert len(folders) <= 14 and len([name for name in MODULES if not folder(name)]) < 6
    for place in {path.parent for path in FILES.values()}:
        assert len(list(place.glob("*.py"))) <= 30, place.name
    for path in FILES.values():
        assert len(path.read_text().splitlines()) <= 450, path.name


def test_no_module_needs_itself():
    """If not, no part of the package can be read, tested or imported before all the others are."""
    edges = graph()
    found = circle(edges)
    assert found is None, " -> ".join(f"{a} (line {edges[a][b]})" for a, b in itertools.pairwise(found)) + f" -> {found[-1]}"


def test_modules_name_what_they_take():
    """If not, a module takes from the package what the package has from it."""
    for name, others in graph().items():
        unknown = set(others) - MODULES - COMPILED - {"__init__"}
        assert not unknown, f"{name} imports {unknown}, which is not there"
        assert "__init__" not in others or name in ON_TOP, f"{name} imports from pdgpu itself at line {others['__init__']}"


def test_the_import_is_light():
    """If not, every script, worker and notebook waits for libraries that it may not use."""
    code = "import sys, numpy; before = set(sys.modules); import pdgpu; print(*sorted(set(sys.modules) - before))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    loaded = set(result.stdout.split())
    heavy = (
        "scipy matplotlib pandas meshio tqdm k3d trimesh pxr asyncio concurrent csv decimal difflib fractions html importlib.metadata "
        "importlib.resources json logging lzma multiprocessing pathlib pickle shutil subprocess tempfile unittest urllib.request zipfile"
    )
    assert not loaded & set(heavy.split())
    # modules of the standard library that a folder of small modules needs
    others = {name for name in loaded if name.split(".")[0] != "pdgpu"}
    assert len(others) < 25, sorted(others)
