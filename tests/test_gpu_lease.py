"""The scripts for a GPU that is lent for minutes (scripts/gpu_lease, scripts/keep_architecture), without one."""

import struct
import subprocess
import sys
import tarfile
import types
from pathlib import Path

import pytest
import script_modules

ROOT = Path(__file__).parent.parent


@pytest.fixture
def lease(tmp_path, monkeypatch):
    """(module, a lease of minutes)"""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = script_modules.load("gpu_lease")
    monkeypatch.setattr(module, "WORK", tmp_path / "work")
    chosen = types.SimpleNamespace(seconds=600.0, out=tmp_path / "out", bring=str(tmp_path), stand_in="here", tests="", all_tests=False)
    return module, module.Lease(chosen)


def test_a_step_that_fails_or_hangs_ends_no_other(lease, tmp_path):
    """If not, minutes with a GPU are lost to the first fault."""
    module, here = lease

    def run(code):
        return lambda lease, step: lease.python("-c", code, limit=step.limit)[0]

    def broken(lease, step):
        raise RuntimeError("broken")

    steps = [
        module.Step("broken", 60, broken),
        module.Step("failing", 60, run("print('said before'); raise SystemExit(3)")),
        module.Step("hanging", 5, run("import time; print('begun', flush=True); time.sleep(600)")),
        module.Step("good", 60, run("print('done')"), lambda lease: "a figure", "a goal"),
    ]
    for step in steps:
        module.perform(here, step, steps)
    assert [step.outcome for step in steps] == ["failed", "failed (3)", "stopped", "passed"]
    table = (here.out / "table.txt").read_text()
    assert "RuntimeError: broken" in table and table.rstrip().endswith("a figure  [a goal]")
    log = (here.out / "log.txt").read_text()
    assert "said before" in log and "begun" in log and "done" in log
    with tarfile.open(here.out / "results.tar.gz") as archive:
        names = [Path(name).name for name in archive.getnames()]
    assert {"table.txt", "log.txt"} <= set(names)


def test_a_step_that_would_begin_too_late_is_left_out(lease):
    """If not, the call is cut off from outside, and its last step leaves nothing."""
    module, here = lease
    here.chosen.seconds = 4.0
    step = module.Step("late", 100, lambda lease, step: 0)
    module.perform(here, step, [step])
    assert step.outcome == "not begun"


def test_every_benchmark_of_the_lease_is_there():
    """If not, a step of the lease names a benchmark that does not exist."""
    module = script_modules.load("gpu_lease")
    names = {step.name for step in module.STEPS}
    assert len(names) == len(module.STEPS) and sum(step.limit for step in module.STEPS) < 900
    text = (ROOT / "scripts" / "gpu_lease").read_text()
    for name in ("gpu_graphs", "gpu_vertex_block_descent", "gpu_frames", "gpu_linear_solvers", "gpu_broad_phase", "gpu_contact_step"):
        assert f'benchmark("{name}"' in text and (ROOT / "benchmarks" / f"{name}.py").exists()


def fat_binary(entries):
    """A fat binary of (kind, architecture, content)."""
    body = b""
    for kind, architecture, content in entries:
        body += struct.pack("<HHIQ", kind, 0x101, 64, len(content)) + bytes(12) + struct.pack("<I", architecture) + bytes(32) + content
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_the_code_of_one_architecture_is_kept(tmp_path):
    """If not, a library that is brought has no code for the GPU that is there, or the code of all others."""
    before = b"head" + fat_binary([(2, 80, b"a" * 24), (2, 90, b"b" * 16), (1, 90, b"c" * 8)]) + b"tail"
    (tmp_path / "library").write_bytes(before)
    command = [sys.executable, str(ROOT / "scripts" / "keep_architecture"), "90", str(tmp_path / "library"), str(tmp_path / "kept")]
    subprocess.run(command, check=True)
    after = (tmp_path / "kept").read_bytes()
    assert after == before.replace(b"a" * 24, bytes(24)).replace(b"c" * 8, bytes(8))
    command[2] = "75"
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode and "no machine code for sm_75" in result.stderr
