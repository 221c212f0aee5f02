"""`scripts/papers`, which runs the figures of the papers in full: nothing is left out and nothing fails unseen."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WRITE = """
import sys
from pathlib import Path

out = Path(sys.argv[sys.argv.index("--out") + 1])
(out / "{name}.png").write_bytes(b"picture")
(out / "{name}_part.csv").write_text("table")
print("said by {name}")
"""
SCRIPTS = {
    "good": "'''Fine.\n\nLimit: 500 s\n'''" + WRITE.format(name="good"),
    "broken": "'''Raises.\n\nLimit: 500 s\n'''" + WRITE.format(name="broken") + "raise ValueError('an empty list')\n",
    "endless": WRITE.format(name="endless") + "while True:\n    pass\n",
    "blank": "'''Leaves nothing.\n\nLimit: 500 s\n'''\n",
}


def papers(*arguments, **environment):
    command = [sys.executable, str(ROOT / "scripts" / "papers"), *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scripts").mkdir()
    for name, text in SCRIPTS.items():
        (tmp_path / "scripts" / f"{name}.py").write_text(text)
    return tmp_path / "scripts"


def test_every_script_is_run():
    """If not, a figure is left out of the scheduled run, and its failure at full size goes unnoticed."""
    listed = dict(line.split() for line in papers("--list", PAPERS_SECONDS="120").stdout.splitlines())
    assert list(listed) == sorted(path.stem for path in (ROOT / "examples" / "papers").glob("*.py")) and len(listed) >= 14
    said = {
        path.stem: re.findall(r"^Limit: (\d+) s$", path.read_text(), re.MULTILINE) for path in (ROOT / "examples" / "papers").glob("*.py")
    }
    assert listed == {name: (found or ["120"])[0] for name, found in said.items()}


def test_what_fails_is_named(folder, tmp_path):
    """If not, the scheduled run is green while scripts crash, hang or write nothing, or red without a word of which."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "blank.png").write_bytes(b"of another run")
    (tmp_path / "out" / "blank.csv").write_text("of another run")
    result = papers("--scripts", folder, "--out", tmp_path / "out", PAPERS_SECONDS="0.3")
    assert result.returncode == 1
    rows = {line.split()[0]: line for line in result.stdout.splitlines()[1:]}
    assert list(rows) == sorted(SCRIPTS)  # one failing does not keep the others from running
    assert re.fullmatch(r"good +[\d.]+ +[\d.]+ +500  ok", rows["good"])
    assert rows["broken"].endswith("  exit 1") and rows["blank"].endswith("  no picture")
    assert rows["endless"].endswith("  0.3  stopped, took too long") or rows["endless"].endswith("  0.3  took too long")
    assert "ValueError: an empty list" in result.stderr
    assert result.stderr.splitlines()[-1] == "papers: 3 of 4 failed or took too long: blank, broken, endless"
    assert (tmp_path / "out" / "good.txt").read_text() == "said by good\n"


def test_what_is_in_order_ends_with_0(folder, tmp_path):
    """If not, the scheduled run always fails, and its result is ignored."""
    result = papers("good", "--scripts", folder, "--out", tmp_path / "out")
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout.splitlines()[-1].startswith("papers: all 1 ran in full")


def test_who_stops_the_run_stops_the_script(folder, tmp_path):
    """If not, a script goes on for hours."""
    (folder / "endless.py").write_text("import os, sys\nprint(os.getpid(), flush=True)\nwhile True:\n    pass\n")
    command = [sys.executable, str(ROOT / "scripts" / "papers"), "endless", "--scripts", str(folder), "--out", str(tmp_path / "out")]
    run = subprocess.Popen(command, stdout=subprocess.PIPE)
    log, deadline = tmp_path / "out" / "endless.txt", time.monotonic() + 60.0
    while not (log.exists() and log.read_text().endswith("\n")) and time.monotonic() < deadline:
        time.sleep(0.05)
    script = int(log.read_text())
    run.terminate()
    run.communicate(timeout=60)
    assert run.returncode == 143
    with pytest.raises(ProcessLookupError):
        os.kill(script, 0)


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (["--scripts", "{tmp}/nothing"], {}, "no scripts in"),
        (["chen"], {}, "'chen' is none of chen2024_figure11,"),
        ([], {"PAPERS_SECONDS": "soon"}, "PAPERS_SECONDS: expected a number of seconds above 0, got 'soon'"),
        ([], {"PAPERS_SECONDS": "0"}, "PAPERS_SECONDS: expected a number of seconds above 0, got '0'"),
    ],
)
def test_slips_are_refused(arguments, environment, message, tmp_path):
    """If not, a run of nothing passes for a run of everything."""
    result = papers(*[argument.format(tmp=tmp_path) for argument in arguments], **environment)
    assert result.returncode == 2 and message in result.stderr
