"""Who knows whom in csrc, and which device csrc/cuda works on: read from the text of the files."""

import re
from pathlib import Path

import pytest

CSRC = Path(__file__).parents[1] / "csrc"
SOURCES = {path.name: path.read_text() for path in sorted((CSRC / "dynamics").rglob("*.c"))}
for listed in ("methods", "responses", "accelerators"):
    SOURCES[f"{listed}.c"] += (CSRC / "dynamics" / f"{listed}.h").read_text()  # where its list stands
DEFINITION = re.compile(r"^(?!static|typedef|extern|#)\w[\w *]*?\b(pd_\w+)(?:\([^;{]*\)|\[\]| =|\s*=)[^;{]*\{", re.MULTILINE)
METHOD = re.compile(r"^const pd_method (pd_\w+) =", re.MULTILINE)
RESPONSE = re.compile(r"^const pd_contact_response (pd_\w+) =", re.MULTILINE)
ACCELERATOR = re.compile(r"^const pd_accelerator (pd_\w+) =", re.MULTILINE)
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


def test_files_hold_one_subject():
    """If not, a file is where several things are looked for, and found by none of its names."""
    for folder, most in ((CSRC, 450), (CSRC.parent / "tests", 850)):
        for path in sorted(path for ending in ("c", "h", "cu", "cuh", "py") for path in folder.rglob(f"*.{ending}")):
            assert len(path.read_text().splitlines()) <= most, path.relative_to(CSRC.parent)


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
    for path in sorted((CSRC / "dynamics").rglob("*.[ch]")):
        known = {name for name in methods.keys() & words(path.read_text()) if methods[name] != path.name}
        assert not known or path.name == "methods.h", f"{path.name} names {known}"


def test_every_response_of_contact_is_one_line_of_the_list():
    """If not, a response is compiled and never asked for, or known to more than the list and its own file."""
    responses = {name: file for file, text in SOURCES.items() for name in RESPONSE.findall(text)}
    table = (CSRC / "dynamics" / "responses.h").read_text()
    assert len(responses) > 4 and sorted(re.findall(r"RESPONSE\((pd_\w+)\)", table)) == sorted(responses)
    for path in sorted(path for ending in ("c", "h") for path in CSRC.rglob(f"*.{ending}")):
        known = {name for name in responses.keys() & words(path.read_text()) if responses[name] != path.name}
        assert not known or path.name == "responses.h", f"{path.name} names {known}"


def test_every_accelerator_is_one_line_of_the_list():
    """If not, an acceleration is compiled and never asked for, or known to more than the list and its own file."""
    accelerators = {name: file for file, text in SOURCES.items() for name in ACCELERATOR.findall(text)}
    table = (CSRC / "dynamics" / "accelerators.h").read_text()
    assert accelerators and sorted(re.findall(r"ACCELERATOR\((pd_\w+)\)", table)) == sorted(accelerators)
    for path in sorted(path for ending in ("c", "h") for path in CSRC.rglob(f"*.{ending}")):
        known = {name for name in accelerators.keys() & words(path.read_text()) if accelerators[name] != path.name}
        assert not known or path.name == "accelerators.h", f"{path.name} names {known}"


def names_a_preconditioner(text):
    """The words of a file that name a preconditioner of the list."""
    table = (CSRC / "linear" / "linear_solver.h").read_text()
    names = re.findall(r"X\((PD_PRECONDITIONER_\w+), (\w+)\)", table)
    assert len(names) > 2
    return sorted(words(text) & {word for kind, name in names for word in (kind, f"pd_{name}_preconditioner")})


def test_every_preconditioner_is_one_line_of_the_list():
    """If not, a preconditioner is compiled and never asked for, or a new one is a change of conjugate gradients or of Newton's method."""
    own = {path.name for path in (CSRC / "linear" / "preconditioners").iterdir()}
    for file, text in csrc_files(*INCLUDES).items():
        assert not names_a_preconditioner(text) or file == "linear/linear_solver.h" or file.split("/")[-1] in own, file
    table = (CSRC / "linear" / "linear_solver.h").read_text()
    listed = re.findall(r"X\(PD_PRECONDITIONER_\w+, (\w+)\)", table)
    python = (CSRC.parent / "python" / "pdgpu" / "linear" / "linear_solvers.py").read_text()
    assert re.search(r"^PRECONDITIONERS = \(([^)]*)\)", python, re.MULTILINE)[1] == ", ".join(f'"{name}"' for name in listed)
    made = re.findall(r"^const pd_preconditioner pd_(\w+)_preconditioner", "".join(csrc_files("linear").values()), re.MULTILINE)
    assert sorted(made) == sorted(listed)


def test_a_preconditioner_would_be_seen():
    """If not, the test above reads no file rightly."""
    assert names_a_preconditioner("if (settings->preconditioner == PD_PRECONDITIONER_CHEBYSHEV) return;")


def names_an_acceleration(text):
    """The words and includes of a file that name an acceleration of the list, or the numbers of one."""
    table = (CSRC / "dynamics" / "accelerators.h").read_text()
    names = re.compile("|".join(["omega", *re.findall(r"ACCELERATOR\(pd_(\w+)_accelerator\)", table)]), re.IGNORECASE)
    found = words(text) | set(re.findall(r'#include "([^"]+)"', text))
    return sorted(word for word in found if names.search(word))


def test_the_step_names_no_acceleration():
    """If not, a new accelerator is a change of the frame, of the step limiter or of a response of contact."""
    files = {path.name: path for path in (CSRC / "dynamics").rglob("*.[ch]") if path.parent.name != "accelerators"}
    assert {"frame.c", "chunk.c", "simulation.h", "method.h", "step_limiter.c", "pair_term.c"} <= files.keys()
    for name, path in sorted(files.items()):
        if name != "accelerators.h":
            assert not names_an_acceleration(path.read_text()), f"{name} names {names_an_acceleration(path.read_text())}"


@pytest.mark.parametrize("line", ["double omega = 1.0;", '#include "linear/chebyshev.h"', "if (self->settings.chebyshev.enabled) return;"])
def test_an_acceleration_would_be_seen(line):
    """If not, the test above reads no file rightly."""
    assert names_an_acceleration(f"{SOURCES['frame.c']}\n{line}\n")


OTHERS = re.compile(r"pd_projective_dynamics\w*|PD_TAKES_\w+|PD_PROJECTIVE\w*")  # the method of that name, what methods take, materials
TELLS = ("method.h", "model.h", "simulation.h")  # what methods take, descriptions of kinds, and what a step reports of a kind
ASKS_PENALTY = ("xpbd.c",)  # whose pairs are its constraints


def kinds_of_contact():
    """Words that name a kind, and the folders of `contact` that have more than pairs as such."""
    table = (CSRC / "dynamics" / "responses.h").read_text()
    kinds = re.findall(r"RESPONSE\(pd_(\w+)_response\)", table)
    folders = {path.name for path in (CSRC / "contact").iterdir() if path.is_dir()} - {"detection", "potential"}
    assert {"barrier", "penalty", "projective", "two_way", "proxies"} == set(kinds) and folders <= set(kinds)
    return re.compile("|".join(kinds), re.IGNORECASE)


def names_a_kind(text):
    """The words and includes of a file that name a kind of contact."""
    kinds = kinds_of_contact()
    found = words(OTHERS.sub("", bare(text))) | set(re.findall(r'#include "([^"]+)"', text))
    return sorted(word for word in found if kinds.search(word) and "projective_dynamics" not in word)


def test_the_step_names_no_kind_of_contact():
    """If not, a new response of contact is a change of the frame, of the step limiter or of the potential."""
    files = {path.name: path for path in (CSRC / "dynamics").rglob("*.[ch]") if path.parent.name != "responses"}
    assert {
        "frame.c",
        "contact_step.c",
        "chunk.c",
        "step_limiter.c",
        "potential.c",
        "problem.c",
        "global_step.c",
        "newton.c",
    } <= files.keys()
    for name, path in sorted(files.items()):
        if name not in (*TELLS, *ASKS_PENALTY, "responses.h"):
            assert not names_a_kind(path.read_text()), f"{name} names {names_a_kind(path.read_text())}"


@pytest.mark.parametrize("line", ["if (problem->projective) return;", '#include "contact/two_way/two_way.h"', "pd_penalty_begin(0);"])
def test_a_kind_of_contact_would_be_seen(line):
    """If not, the test above reads no file rightly."""
    assert names_a_kind(f"{SOURCES['frame.c']}\n{line}\n")


# ---- folders: what each may include and call, and how many files it has -----------------------------------------------------------------

# Folder of csrc -> folders whose headers its files may include, beside their own: the three storeys of CONTRIBUTING.md. `updates` and
# `loops` include each other: updates take the structures of the loops, and time_step_loops.h the steps of time.
INCLUDES = {
    "base": "",
    "geometry": "base",
    "elements": "base geometry",
    "updates": "base geometry elements loops",
    "loops": "base geometry elements updates sparse",
    "threads": "base",
    "mesh": "base geometry elements threads",
    "sparse": "base mesh threads",
    "verify": "base geometry threads",
    "cpu": "base geometry elements updates loops threads",
    "cuda": "base geometry elements updates loops threads",
    "linear": "base updates loops mesh sparse threads",
    "contact": "base geometry elements updates loops linear",
    "dynamics": "base elements updates loops mesh sparse threads linear contact",
    "include": "",
    "library": "base geometry elements loops threads mesh sparse linear contact dynamics include",
    "python": "base geometry elements loops threads mesh sparse verify linear contact dynamics",
}
CALLED = ("contact", "dynamics")  # folders of algorithms that are divided


def csrc_files(*folders):
    paths = (path for folder in folders for path in (CSRC / folder).rglob("*") if path.suffix in (".c", ".h", ".cu", ".cuh"))
    return {path.relative_to(CSRC).as_posix(): path.read_text() for path in sorted(paths)}


def forbidden_includes(file, text):
    folder = file.split("/")[0]
    allowed = {folder, *INCLUDES[folder].split()}
    return [name for name in re.findall(r'#include "([^"]+)"', text) if name.split("/")[0] not in allowed]


def test_every_folder_includes_what_it_may():
    """If not, an element knows of a loop, a loop of an algorithm, or an algorithm of a device."""
    assert {path.name for path in CSRC.iterdir() if path.is_dir()} == INCLUDES.keys()
    for file, text in csrc_files(*INCLUDES).items():
        assert not forbidden_includes(file, text), file


def test_a_forbidden_include_would_be_seen():
    """If not, the test above holds whatever the files include."""
    assert forbidden_includes("contact/potential/neighbour_list.c", '#include "dynamics/method.h"\n') == ["dynamics/method.h"]
    assert forbidden_includes("updates/sweeps/xpbd.h", '#include "cpu/context.h"\n') == ["cpu/context.h"]


def folder_graph(files):
    """Folder -> {folder that it calls: a name by which it does}."""
    graph = {}
    for file, uses in dependencies(files).items():
        folder = graph.setdefault(str(Path(file).parent), {})
        folder.update({str(Path(other).parent): name for other, name in uses.items() if Path(other).parent != Path(file).parent})
    return graph


def called_files():
    files = {file: text for file, text in csrc_files(*CALLED).items() if file.endswith(".c")}
    for listed in ("methods.c", "responses.c", "accelerators.c"):
        files[f"dynamics/{listed}"] = SOURCES[listed]
    return files


def test_no_two_folders_of_the_algorithms_call_each_other():
    """If not, a folder is no subject of its own: whoever reads one has to read the other with it."""
    graph = folder_graph(called_files())
    assert "dynamics/methods" in graph["dynamics"] and "contact/detection" in graph["contact/potential"]  # the reading reads
    found = cycle(graph)
    assert not found, named(found, graph)


def test_a_cycle_of_folders_would_be_seen():
    """If not, the test above holds whatever the files call."""
    files = called_files()
    files["contact/detection/patches.c"] += "void pd_here(void) { pd_contact_limit(0); }\n"
    assert cycle(folder_graph(files))


def test_no_folder_holds_more_than_can_be_read():
    """If not, whoever looks for a place has to know it already."""
    for folder in [path for path in [CSRC, *CSRC.rglob("*")] if path.is_dir()]:
        assert sum(path.is_file() for path in folder.iterdir()) <= 30, folder.relative_to(CSRC)


# ---- csrc/cuda: the device is made current before the runtime or a library is called ----------------------------------------------------

FUNCTION = re.compile(r"^(?!#| |typedef)[^\n;{}]*?\b(\w+)\([^;{}]*\)\s*\{(.*?)(?:^\}|\}$)", re.MULTILINE | re.DOTALL)
MACRO = re.compile(r"^#define (\w+)\([^)]*\)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
NEEDS_NO_DEVICE = {
    *("cudaGetLastError", "cudaGetErrorString", "cudaDriverGetVersion", "cudaRuntimeGetVersion"),
    *("cudaGetDeviceCount", "cudaGetDeviceProperties", "cudaSetDevice"),
    *("cudaTriggerProgrammaticLaunchCompletion", "cudaGridDependencySynchronize"),  # of kernels
    *("library->get_property", "all.get_property"),
}
KEEPS_DEVICE = {"pd_capture_end"}  # no other device is made current between the begin and the end of a capture


def without_invocations(body, macros):
    """A body without the invocations of these macros and their arguments."""
    pattern = re.compile(rf"\b(?:{'|'.join(macros)})\(") if macros else re.compile("(?!)")
    while found := pattern.search(body):
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(body[end], 0)
            end += 1
        body = body[: found.start()] + body[end:]
    return body


def calls_without_device(text):
    """Function -> what it calls of the runtime, CUB, cuSOLVER or cuDSS before it has made the context's device current."""
    text = bare(text)
    functions = {name: body for name, body in FUNCTION.findall(text)}
    macros = {name for name, body in MACRO.findall(text) if "pd_device_use(" in body or "PD_LIBRARY_CALL(" in body}
    users = {name for name, body in functions.items() if "pd_device_use(" in body} | {"pd_device_use"}
    helpers, found = set(), {}
    for _ in functions:  # a static function may leave it to its callers, which then are looked at
        names = "|".join([r"cuda[A-Z]\w+", r"cub::Device\w+::\w+", r"library->\w+", r"\(\)->\w+", *sorted(helpers)])
        for name, body in functions.items():
            body = without_invocations(body, macros).replace("self->library", "library")
            calls = [c for c in re.finditer(rf"(?<![\w>])({names})\(", body) if c[1] not in NEEDS_NO_DEVICE]
            uses = [u.start() for u in re.finditer(rf"(?<![\w>])(?:{'|'.join(users)})\(", body)]
            if calls and not (uses and uses[0] < calls[0].start()):
                found[name] = calls[0][1]
        static = {name for name in found if re.search(rf"^(?:static|template)[^;{{}}]*\b{name}\(", text, re.MULTILINE)}
        if static <= helpers:
            break
        helpers |= static
    return {name: call for name, call in found.items() if name not in helpers | KEEPS_DEVICE}


def test_the_device_is_current_before_the_runtime_is_called():
    """If not, a call from another thread, or after one of another device, works on the wrong GPU."""
    paths = sorted((CSRC / "cuda").rglob("*.cu*"))
    assert {"context.cu", "jacobi.cu", "launch.cuh"} <= {path.name for path in paths}
    for path in paths:
        assert calls_without_device(path.read_text()) == {}, path.name


@pytest.mark.parametrize(
    "text",
    [
        "pd_status f(pd_context *c) {\n    cudaFree(c->index);\n}\n",
        "pd_status f(pd_context *c) {\n    cudaFree(c->index);\n    pd_device_use(c);\n}\n",
        "static int g(int a) {\n    return cudaFree(a);\n}\n\npd_status f(pd_context *c) {\n    g(c);\n}\n",
        "static int g(int a) { return cudaFree(a); }\n\npd_status f(pd_context *c) { g(c); }\n",
        "#define PD_CALL(context, call) \\\n    (call)\n\npd_status f(pd_context *c) {\n    PD_CALL(c, self->library->create(c));\n}\n",
    ],
)
def test_a_call_on_the_wrong_device_would_be_seen(text):
    """If not, the test above passes because it reads no file rightly."""
    assert list(calls_without_device(text)) == ["f"]
