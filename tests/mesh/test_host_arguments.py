"""What the extension module says to arguments it cannot use."""

import inspect
import sys
import tracemalloc

import numpy as np
import pytest

from pdgpu import _host, ccd

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
TETS = np.array([[0, 1, 2, 3]], dtype=np.int32)


@pytest.mark.parametrize(
    ("points", "exception", "message"),
    [
        ([[0, 0, 0]], TypeError, r"points: expected float64 array of shape \(\*, 3\), got list"),
        (POINTS.astype(np.float32), TypeError, r"points: expected float64 array of shape \(\*, 3\), got float32 array of shape \(4, 3\)"),
        (POINTS.astype(">f8"), TypeError, "points: .* got >f8 array"),
        (POINTS[:, :2].copy(), ValueError, r"points: .* got float64 array of shape \(4, 2\)"),
        (POINTS.ravel(), ValueError, r"points: .* got float64 array of shape \(12,\)"),
        (np.asfortranarray(POINTS), ValueError, "points: expected C-contiguous .* got strided"),
        (np.frombuffer(b"\0" * 97, np.uint8)[1:].view(np.float64).reshape(4, 3), ValueError, "points: expected aligned .* got misaligned"),
        (None, TypeError, "points: .* got NoneType"),
    ],
)
def test_a_wrong_array_is_refused_by_name(points, exception, message):
    """If it failed, C would read memory of another type or shape: garbage, or a crash."""
    with pytest.raises(exception, match=message):
        _host.measures(points, TETS)


@pytest.mark.parametrize(
    ("elements", "message"),
    [
        ([[0, 1, 2, 4]], "index 4 at row 0 is out of range for 4 points"),
        ([[0, 1, 2, 3], [0, 1, -1, 3]], "index -1 at row 1 is out of range for 4 points"),
        ([[0, 1, 2, 3], [0, 3, 2, 3]], "row 1 repeats vertex 3"),
    ],
)
@pytest.mark.parametrize(
    "function",
    [
        lambda e: _host.check_elements(POINTS, e, "tets"),
        lambda e: _host.orient_tets(POINTS, e),
        lambda e: _host.surface(e, 4),
        lambda e: _host.edges(e, 4),
        lambda e: _host.measures(POINTS, e),
        lambda e: _host.lumped_masses(POINTS, e, np.ones(len(e))),
        lambda e: _host.colouring(e, 4),
    ],
    ids=["check_elements", "orient_tets", "surface", "edges", "measures", "lumped_masses", "colouring"],
)
def test_every_function_checks_its_indices(function, elements, message):
    """If it failed, a bad index would write outside an array."""
    with pytest.raises(ValueError, match=message):
        function(np.array(elements, dtype=np.int32))


def test_the_argument_of_the_caller_is_named():
    """If it failed, the reader of the message would look for an argument that does not exist."""
    with pytest.raises(ValueError, match="wings: row 0 repeats vertex 1"):
        _host.check_elements(POINTS, np.array([[1, 1]], np.int32), name="wings")
    with pytest.raises(ValueError, match="points: coordinate inf at row 2, column 1 is not finite"):
        _host.check_elements(np.where(np.arange(12).reshape(4, 3) == 7, np.inf, POINTS), TETS, "tets")


@pytest.mark.parametrize("n_points", [-1, 2**31, 2**62])
def test_impossible_numbers_of_points(n_points):
    """If it failed, a count would wrap around and memory be sized by it."""
    with pytest.raises(ValueError, match="n_points"):
        _host.edges(TETS, n_points)


def test_widths_that_no_element_has():
    """If it failed, rows of five would be read as something else."""
    with pytest.raises(ValueError, match="elements: expected 2 to 4 vertices per row, got 5"):
        _host.edges(np.zeros((1, 5), np.int32), 4)
    with pytest.raises(ValueError, match="tets"):
        _host.surface(np.zeros((1, 3), np.int32), 4)
    with pytest.raises(ValueError, match="topology: 'quad' is none of"):
        _host.rest_shape(np.zeros((1, 4, 3)), "quad")


def test_every_function_has_a_signature_and_a_docstring():
    """If it failed, an editor could not show what a function takes."""
    functions = [f for name, f in vars(_host).items() if not name.startswith("_") and callable(f)]
    assert len(functions) >= 10
    for function in functions:
        assert str(inspect.signature(function)).startswith("(")
        assert function.__doc__


def test_no_references_are_lost_on_success_or_failure():
    """If it failed, every mesh ever built would stay in memory."""
    points, tets, bad = POINTS.copy(), TETS.copy(), np.array([[0, 1, 2, 9]], np.int32)
    before = [sys.getrefcount(a) for a in (points, tets, bad)]
    for _ in range(100):
        _host.orient_tets(points, tets)
        _host.measures(points, tets)
        for function in (_host.orient_tets, _host.measures, _host.check_elements):
            with pytest.raises(ValueError):
                function(points, bad)
    assert [sys.getrefcount(a) for a in (points, tets, bad)] == before
    assert sys.getrefcount(_host.surface(tets, 4)) == sys.getrefcount(np.empty(1))


def test_copies_of_indices_are_let_go():
    """If it failed, every call would leave a copy of its elements in memory."""
    points, density = np.tile(POINTS, (1000, 1)) + np.repeat(np.arange(1000), 4)[:, None], np.ones(1000)
    tets = np.arange(4000, dtype=np.int32).reshape(-1, 4)
    bad = np.where(tets == 3996, 4000, tets).astype(np.int32)

    def every_function(rows):
        for call in (
            lambda: _host.check_elements(points, rows),
            lambda: _host.orient_tets(points, rows),
            lambda: _host.surface(rows, 4000),
            lambda: _host.edges(rows, 4000),
            lambda: _host.hinges(np.ascontiguousarray(rows[:, :3]), 4000),
            lambda: _host.measures(points, rows),
            lambda: _host.lumped_masses(points, rows, density),
            lambda: _host.colouring(rows, 4000),
            lambda: _host.rest_shape(points, "tet", rows),
            lambda: ccd.earliest(points, points + 0.1, vertex_triangle=rows),
        ):
            if rows is bad:
                with pytest.raises(ValueError):
                    call()
            else:
                call()

    for rows in (tets, bad):
        every_function(rows)
    tracemalloc.start()
    for rows in (tets, bad):
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            every_function(rows)
        assert tracemalloc.get_traced_memory()[0] - before < 5 * tets.nbytes
    tracemalloc.stop()


def test_processor_check_answers():
    """If it failed, a first step on an old processor would end the process with an illegal instruction."""
    assert _host.missing_instructions() == () and isinstance(_host.CPU_ARCH, str)
