"""Scripts run as `python script.py` runs them, each in a process of its own that has imported already what all of them import."""

import multiprocessing
import os
import runpy
import sys
from dataclasses import dataclass

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["matplotlib.pyplot", "pdgpu", "scripts_apart"])


@dataclass
class Result:
    returncode: int
    stdout: str
    stderr: str


def run(script, *arguments, folder, timeout):
    """Runs it with these arguments; what it prints goes by way of two files in `folder`."""
    printed = [folder / name for name in ("stdout.txt", "stderr.txt")]
    process = SERVER.Process(target=as_main, args=(str(script), [str(argument) for argument in arguments], printed))
    process.start()
    process.join(timeout)
    if process.is_alive():
        process.kill()
        raise TimeoutError(f"{script}: still running after {timeout} s")
    return Result(process.exitcode, *(path.read_text() for path in printed))


def as_main(script, arguments, printed):
    os.environ["MPLBACKEND"] = "Agg"
    for stream, path in zip((1, 2), printed, strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(script))
    runpy.run_path(script, run_name="__main__")
