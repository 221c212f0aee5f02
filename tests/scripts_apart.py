"""Scripts run as `python script.py` runs them, each in a process of its own that has imported already what all of them import."""

import multiprocessing
import os
import runpy
import subprocess
import sys
from pathlib import Path

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["matplotlib.pyplot", "pdgpu", "scripts_apart"])


def run(script, *arguments, folder, timeout):
    """As `subprocess.run` with its output as text; what it prints goes by way of two files in `folder`."""
    command = [str(script), *map(str, arguments)]
    printed = [folder / name for name in ("stdout.txt", "stderr.txt")]
    process = SERVER.Process(target=as_main, args=(command, printed))
    process.start()
    process.join(timeout)
    if process.is_alive():
        process.kill()
        raise subprocess.TimeoutExpired(command, timeout)
    return subprocess.CompletedProcess(command, process.exitcode, *(path.read_text() for path in printed))


def as_main(command, printed):
    os.environ["MPLBACKEND"] = "Agg"
    for stream, path in zip((1, 2), printed, strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    sys.argv = command
    # where a user has no tests, a script must not find what only tests import
    sys.path[:] = [os.path.dirname(command[0]), *(path for path in sys.path if not Path(path).is_relative_to(Path(__file__).parent))]
    runpy.run_path(command[0], run_name="__main__")
