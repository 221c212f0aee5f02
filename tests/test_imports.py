"""The modules of the package and what they take from each other, read from their source.

An edge is an import anywhere in a module, in a function too: what is imported late is needed all the same. Left out are imports for type
checkers alone, and the package itself: __init__.py shows what the modules hold, so a name that is taken from `pdgpu` is an edge to the
module of that name, and otherwise to __init__, which only what runs on top of the package may have (`command_line`).
"""

import ast
import itertools
from pathlib import Path

import pdgpu

PACKAGE = Path(pdgpu.__file__).parent
MODULES = {path.stem for path in PACKAGE.glob("*.py")}
COMPILED = {"_host", "_cpu_f32", "_cpu_f64", "_cuda_f32", "_cuda_f64"}
ON_TOP = {"__main__", "command_line"}


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
        yield node.module.split(".")[1], node.lineno
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == "pdgpu":
                yield (alias.name.split(".") + ["__init__"])[1], node.lineno
    else:
        for child in ast.iter_child_nodes(node):
            yield from imports(child)


def graph():
    """Module -> {module it imports: line}."""
    edges = {}
    for name in sorted(MODULES - {"__init__"}):
        found = edges[name] = {}
        for other, line in imports(ast.parse((PACKAGE / f"{name}.py").read_text())):
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


def test_a_circle_is_found():
    """If not, the test below looks at nothing."""
    code = (
        "if TYPE_CHECKING:\n    from pdgpu.a import b\ndef f():\n    from pdgpu.scene.scene import Scene\nfrom pdgpu import _host, mesh, Mesh\n"
    )
    assert [name for name, _ in imports(ast.parse(code))] == ["scene", "_host", "mesh", "__init__"]
    assert circle({"a": ["b", "c"], "b": ["c"], "c": ["d"], "d": []}) is None
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert len(graph()) > 30 and "bodies" in graph()["cutting"]


def test_no_module_needs_itself():
    """If not, no part of the package can be read, tested or imported before all the others are."""
    edges = graph()
    found = circle(edges)
    assert found is None, " -> ".join(f"{a} (line {edges[a][b]})" for a, b in itertools.pairwise(found)) + f" -> {found[-1]}"


def test_modules_name_what_they_take():
    """If not, a module takes from the package what the package has from it."""
    for name, others in graph().items():
        unknown = set(others) - MODULES - COMPILED
        assert not unknown, f"{name} imports {unknown}, which is not there"
        assert "__init__" not in others or name in ON_TOP, f"{name}.py imports from pdgpu itself at line {others['__init__']}"
