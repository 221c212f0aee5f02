"""The stand-in runtime that runs kernels on the CPU: it must run right ones rightly and stop at wrong ones."""

import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent / "on_host"
CSRC = HERE.parent.parent.parent / "csrc"


def program(folder, *flags):
    """A function that runs the program of faults with the name of one of them."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if not compiler:
        pytest.skip("there is no C++ compiler: the stand-in runtime is not checked")
    binary = folder / "faults"
    sources = [HERE / "faults.cpp", HERE / "device.cpp"]
    subprocess.run([compiler, "-std=c++17", "-O1", *flags, f"-I{HERE}", f"-I{CSRC}", *sources, "-o", binary], check=True)

    def run(name, **more):
        # a sanitizer that is preloaded for Python would take the segmentation fault
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"} | more
        return subprocess.run([binary, name], capture_output=True, text=True, timeout=60, env=environment)

    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return program(tmp_path_factory.mktemp("faults"))


def test_barriers_shuffles_and_reductions(run):
    """If not, a kernel that is right fails here, or one that is wrong passes."""
    numbers = [float(word) for word in run("sum").stdout.split()]
    of_block = [sum(range(256)), sum(range(256, 512)), 512]
    of_warp = [sum(range(32)), sum(range(256, 288)), 512]
    assert numbers == [v for pair in zip(of_block, of_warp, strict=True) for v in pair]


def turned(x):
    for _ in range(2):
        x = [a + x[i - 1] for i, a in enumerate(x)]
    return x


def test_blocks_that_wait_for_each_other(run):
    """If not, a persistent kernel cannot be checked."""
    assert [float(word) for word in run("turn").stdout.split()] == turned(range(768))[:4]
    assert "grid barrier in a launch that is not cooperative" in run("turn without cooperation").stderr
    assert "an error" in run("turn too large").stdout


def test_a_graph_runs_what_was_captured_and_only_when_launched(run):
    """If not, captured iterations run at once, or not as often as asked for."""
    numbers = [float(word) for word in run("graph").stdout.split()]
    assert numbers == [0, 1, 2, 3] + turned(turned(range(768)))[:4]
    assert "not permitted when stream is capturing" in run("copy in a capture").stdout


def test_nothing_runs_before_it_is_waited_for(run):
    """If not, a clock that is read, or a number that is used, before the device has come to it looks right here and is wrong on a GPU."""
    before, after = run("too early").stdout.split()
    assert (float(before), float(after)) == (0, sum(range(256)))


def test_a_launch_that_overlaps_begins_before_the_one_before_it(run):
    """If not, a kernel that reads too early what the launch before it writes is right here and wrong on a GPU."""
    assert [float(word) for word in run("overlap").stdout.split()] == [0, 0, 0, 1, 0, 2]
    assert "does not wait for the launch before" in run("overlap without a wait").stderr
    assert "overlaps what is no launch" in run("overlap of a copy").stderr


@pytest.mark.parametrize("name", ["race", "race of launches that overlap"])
def test_the_order_of_blocks_shows_a_race(name, run):
    """If not, a kernel that reads what another block of its launch writes gives the same result in both orders, unnoticed."""
    assert run(name, PD_ON_HOST_ORDER="forwards").stdout.split() == ["1", "3", "3"]
    assert run(name, PD_ON_HOST_ORDER="backwards").stdout.split() == ["3", "3", "2"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("divergent", "a __syncthreads() that not all threads"), ("ended lane", "a lane that the mask of a shuffle names has ended")],
)
def test_a_barrier_that_is_missed_ends_the_program(run, name, message):
    """If not, a kernel that hangs on a GPU passes its tests."""
    result = run(name)
    assert message in result.stderr
    assert result.returncode != 0


def test_what_was_never_written_is_no_number(run):
    """If not, a kernel that reads shared memory too early finds zeros."""
    assert run("shared").stdout.split() == ["-nan", "-nan"]


def test_the_address_sanitizer_sees_into_kernels(tmp_path):
    """If not, the threads that take turns hide from it what a kernel reads and should not."""
    run = program(tmp_path, "-fsanitize=address")
    options = {"ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1"}
    assert run("sum", **options).returncode == 0
    assert "stack-buffer-overflow" in run("past the end of an array", **options).stderr
    assert "use-after-poison" in run("past the end of an allocation", **options).stderr


def test_two_devices_that_are_mixed_up(run):
    """If not, what was made on one GPU and is used on another works here and is lost there."""
    assert "invalid resource handle" in run("stream of another device").stdout
    assert run("memory of another device").returncode < 0


def test_the_host_cannot_read_device_memory(run):
    """If not, an algorithm that follows a device pointer works here and crashes on a GPU."""
    assert run("host reads").returncode < 0
