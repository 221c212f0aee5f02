"""Who knows whom in csrc/dynamics: read from the text of its files."""

import re
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[1] / "csrc"
SOURCES = {path.name: path.read_text() for path in sorted((CSRC / "dynamics").glob("*.c"))}
SOURCES["methods.c"] += (CSRC / "dynamics" / "methods.h").read_text()  # where its list stands
DEFINITION = re.compile(r"^(?!static|typedef|extern|#)\w[\w *]*?\b(pd_\w+)(?:\([^;{]*\)|\[\]| =|\s*=)[^;{]*\{", re.MULTILINE)
METHOD = re.compile(r"^const pd_method (pd_\w+) =", re.MULTILINE)
OWN_TYPE = re.compile(r"^(?:typedef )?struct (\w+) \{", re.MULTILINE)


def bare(text):
    """Without comments and strings."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', " ", text, flags=re.DOTALL)


def words(text):
    return set(re.findall(r"\w+", bare(text)))


def dependencies(sources):
    """File -> {file it uses: a name by which it does}."""
    owner = {name: file for file, text in sources.items() for name in DEFINITION.findall(bare(text))}
    uses = {file: words(text) & owner.keys() for file, text in sources.items()}
    return {file: {owner[name]: name for name in sorted(names) if owner[name] != file} for file, names in uses.items()}


def cycle(graph):
    """Files each of which uses the next, the last the first; None: there are none."""
    done = set()

    def visit(file, path):
        if file in path:
            return path[path.index(file) :]
        if file in done:
            return None
        done.add(file)
        return next((found for other in graph[file] if (found := visit(other, [*path, file]))), None)

    return next((found for file in graph if (found := visit(file, []))), None)


def named(found, graph):
    return " -> ".join(f"{file} ({graph[file][other]})" for file, other in zip(found, [*found[1:], found[0]], strict=True))


def test_no_two_files_of_the_dynamics_need_each_other():
    """If not, none of them can be read, tested or replaced without the others, and a change of one is a change of all."""
    graph = dependencies(SOURCES)
    assert graph["frame.c"].keys() >= {"chunk.c", "divergence.c"} and "newton.c" in graph["methods.c"]  # the reading reads
    found = cycle(graph)
    assert not found, named(found, graph)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("potential.c", "void pd_here(void) { pd_line_search(0, 0, 0); }"),
        ("problem.c", "int pd_here(int a,\n            int b) {\n    return pd_simulation_begin(0);\n}"),
        ("line_search.c", "const void *pd_here(void) { return pd_method_find(0); }"),
    ],
)
def test_a_cycle_would_be_seen(file, text):
    """If not, the test above holds whatever the files do."""
    found = cycle(dependencies(SOURCES | {file: f"{SOURCES[file]}\n{text}\n"}))
    assert found and file in found


def private_types():
    """Type -> the method's file that defines it."""
    methods = {file: bare(text) for file, text in SOURCES.items() if METHOD.search(text)}
    return {name: file for file, text in methods.items() for name in OWN_TYPE.findall(text) if name.startswith("pd_")}


def test_only_its_own_file_knows_what_a_method_is_made_of():
    """If not, whoever changes a method's memory has to look for others that read it."""
    private = private_types()
    assert {"pd_newton", "pd_xpbd", "pd_admm", "pd_descent", "pd_quasi_newton", "pd_nonlinear_cg"} <= private.keys()
    assert set(private.values()) <= {file for file in SOURCES if METHOD.search(SOURCES[file])}
    for path in sorted(path for ending in ("c", "h", "cu", "cuh") for path in CSRC.rglob(f"*.{ending}")):
        known = {name for name in private.keys() & words(path.read_text()) if private[name] != path.name}
        assert not known, f"{path.relative_to(CSRC)} names {known}"


def test_every_method_is_one_line_of_the_list():
    """If not, a method is compiled and never run, or known to more than the list."""
    methods = {name: file for file, text in SOURCES.items() for name in METHOD.findall(text)}
    table = (CSRC / "dynamics" / "methods.h").read_text()
    assert sorted(re.findall(r"METHOD\((pd_\w+)\)", table)) == sorted(methods)
    for path in sorted((CSRC / "dynamics").glob("*.[ch]")):
        known = {name for name in methods.keys() & words(path.read_text()) if methods[name] != path.name}
        assert not known or path.name == "methods.h", f"{path.name} names {known}"
