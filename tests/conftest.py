"""What every run of the tests can be asked for."""

import contextlib
import functools
import gc
import os
import warnings
from pathlib import Path

import pytest

# files of tests/cuda with tests that need neither a device nor the stand-in
WITHOUT_DEVICE = ("test_benchmarks.py", "test_on_host.py", "test_resources.py", "test_without_device.py")

TOLD = pytest.StashKey[list]()  # what the fixtures of a module warned of

# Tests, and the scripts that they start, have the defaults of pdgpu for device= and dtype=, not those of a shell.
for variable in ("PDGPU_DEVICE", "PDGPU_DTYPE"):
    os.environ.pop(variable, None)


def pytest_addoption(parser):
    parser.addoption(
        "--each-choice",
        action="store_true",
        help="of a test's combinations of parameters only as many as let every value of every parameter occur",
    )
    parser.addoption("--quick", action="store_true", help="the tests of tests/quick.py, and only these")
    parser.addoption("--stress", action="store_true", help="the tests marked `stress`, and only these")
    parser.addoption(
        "--continue", metavar="FILE", type=Path, help="leave out the tests that FILE names, and add to it those that pass or are skipped"
    )


def pytest_configure(config):
    if config.getoption("--continue"):
        config.pluginmanager.register(Continued(config), "continued")


def pytest_report_header():
    return f"tests/cuda: only the tests that need no device, since {fault}" if (fault := cuda_fault()) else None


@functools.cache
def cuda_fault():
    """Why the CUDA backend cannot be tested in any precision; None: it can."""
    import cuda_modules  # not at the top: other folders of tests take this file alone

    return None if cuda_modules.precisions() else cuda_modules.fault("float64")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    with skipped_where_left_out(item, of_module=True):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with skipped_where_left_out(item):
        return (yield)


@contextlib.contextmanager
def skipped_where_left_out(item, of_module=False):
    """Skips a test that fails since this build leaves a part out (PDGPU_CHOLMOD=OFF, PDGPU_GMP=OFF), and names the option.

    The error names the option, or a warning of the test or of a fixture of its module: `pdgpu.compare` goes on without a solver.
    """
    from pdgpu import _host

    options = [f"PDGPU_{name}=OFF" for name, there in (("CHOLMOD", _host.HAS_CHOLMOD), ("GMP", _host.HAS_GMP)) if not there]
    if not options:
        yield
        return
    told = item.getparent(pytest.Module).stash.setdefault(TOLD, [])
    with warnings.catch_warnings(record=True) as caught:
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            texts = [str(error), *told, *(str(warning.message) for warning in caught)]
            if named := [option for option in options if any(option in text for text in texts)]:
                pytest.skip(f"this build has {named[0]}")
            raise
        if of_module:
            told += [str(warning.message) for warning in caught]


def pytest_ignore_collect(collection_path, config):
    """Without a device the tests of the kernels are not collected: they are a fifth of all. Nor are files that --quick leaves out."""
    if config.getoption("--quick") and collection_path.suffix == ".py":
        import quick  # not at the top: other folders of tests take this file alone

        return True if collection_path.relative_to(config.rootpath).as_posix() not in quick.files() else None
    kernels = collection_path.parent.name == "cuda" and collection_path.name.startswith("test_")
    return True if kernels and collection_path.name not in WITHOUT_DEVICE and cuda_fault() else None


def pytest_pycollect_makeitem(collector, obj):
    """Tests that are marked `stress` as a whole are generated under --stress only."""
    marks = getattr(obj, "pytestmark", ())
    if not collector.config.getoption("--stress") and any(mark.name == "stress" for mark in marks if hasattr(mark, "name")):
        return []
    return None


def pytest_collection_modifyitems(config, items):
    stress = set(repeated([item for item in items if item.get_closest_marker("each_choice")]))
    stress |= {item for item in items if item.get_closest_marker("stress")}
    leave_out(config, items, [item for item in items if (item in stress) != config.getoption("--stress")])
    if config.getoption("--quick"):
        import quick

        leave_out(config, items, [item for item in items if not any(quick.selects(entry, item.nodeid) for entry in quick.entries())])
    if config.getoption("--each-choice"):
        leave_out(config, items, repeated(items))
    if continued := config.pluginmanager.get_plugin("continued"):
        leave_out(config, items, [item for item in items if item.nodeid in continued.before])


def pytest_collection_finish():
    gc.freeze()  # a full collection in a test does not visit ten thousand tests


def leave_out(config, items, left):
    config.hook.pytest_deselected(items=left)
    left_out = set(left)
    items[:] = [item for item in items if item not in left_out]


def repeated(items):
    """All but an each-choice selection [Ammann and Offutt 1994]: what a slow run can afford of a product of parameters."""
    seen, left = {}, []
    for item in sorted(items, key=lambda item: not item.get_closest_marker("every")):
        parameters = getattr(item, "callspec", None)
        choices = {(name, repr(value)) for name, value in parameters.params.items()} if parameters else {()}
        known = seen.setdefault(item.nodeid.split("[")[0], set())
        if choices <= known and not item.get_closest_marker("every"):
            left.append(item)
        known |= choices
    return left


class Continued:
    """A run that goes on where one before it was cut off: what passed is in a file as soon as it has.

    `before` is what had passed when the run began. Processes that share it get that from the first of them, which alone writes: one that
    is started later, for one that died, must find the same tests as the others.
    """

    def __init__(self, config):
        self.path, self.failed = config.getoption("--continue"), set()
        shared = getattr(config, "workerinput", None)
        self.writes = shared is None
        self.before = set(shared["passed"] if shared else self.path.read_text().splitlines() if self.path.exists() else ())

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node):
        node.workerinput["passed"] = sorted(self.before)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)
        elif self.writes and report.when == "teardown" and report.nodeid not in self.failed:
            with self.path.open("a") as file:
                file.write(report.nodeid + "\n")

    def pytest_sessionfinish(self, session):
        if self.before and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:  # nothing was left to run
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.write_line(f"{len(self.before)} tests had passed in a run before and were left out")
