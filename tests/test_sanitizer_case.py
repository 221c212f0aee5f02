"""What the sanitizers are given to run has nothing else wrong with it."""

import pytest
import sanitizer_case

from pdgpu._internal.backends import backend


@pytest.mark.every
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("part", sanitizer_case.PARTS, ids=lambda part: part.__name__)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(1800)  # kernels on the CPU under a sanitizer take minutes
def test_everything_once(part, device, dtype):
    """If not, the sanitizers see a part of the code alone."""
    try:
        backend(device, dtype)
    except RuntimeError as error:
        pytest.skip(f"{device}: {error}")
    for _, case in part(device, dtype):
        case()


def failing(device, dtype):
    yield "first", lambda: 1 / 0
    yield "second", lambda: None
    raise ValueError("a scene that cannot be made")


def passing(device, dtype):
    yield "third", lambda: f"does not run on {device}"


def losing(device, dtype):
    def case():
        raise RuntimeError(f"CUDA: a launch failed; {sanitizer_case.CONTEXT_LOST}, and nothing can use CUDA")

    yield "lost", case


def test_a_failure_ends_no_other_case(monkeypatch, capsys):
    """If not, the first failure on a GPU hides all that come after it."""
    monkeypatch.setattr(sanitizer_case, "PARTS", (failing, passing))
    assert sanitizer_case.main(["--device", "cpu", "float64"]) == 1
    printed = capsys.readouterr().out
    for line in ("  first: FAILED", "ZeroDivisionError: division by zero", "  second: passed", "  third: does not run on cpu"):
        assert line in printed
    assert "2 of 4 cases failed: first; failing: preparation" in printed
    assert sanitizer_case.main(["--device", "cpu", "float64", "--part", "passing"]) == 0


def test_a_lost_context_ends_the_run(monkeypatch, capsys):
    """If not, one fault of a kernel is reported as the failure of every case after it."""
    monkeypatch.setattr(sanitizer_case, "PARTS", (losing, passing))
    with pytest.raises(SystemExit) as error:
        sanitizer_case.main(["--device", "cpu", "float32"])
    assert error.value.code == 3
    printed = capsys.readouterr().out
    assert "stopped at 'lost' in part losing" in printed and "third" not in printed


def test_parts_are_listed_and_chosen(capsys):
    """If not, a script cannot run each part in a process of its own."""
    assert sanitizer_case.main(["--list"]) == 0
    assert capsys.readouterr().out.split() == [part.__name__ for part in sanitizer_case.PARTS]
    with pytest.raises(SystemExit):
        sanitizer_case.main(["--part", "nothing"])
