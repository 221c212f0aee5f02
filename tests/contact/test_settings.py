"""The settings of contacts: by keyword, with one name for one thing, and calls of an earlier release go on with a warning."""

import inspect
import pickle
import warnings

import pytest

import pdgpu

CONTACTS = (pdgpu.BarrierContact, pdgpu.PenaltyContact, pdgpu.ProjectiveContact, pdgpu.TwoWayContact, pdgpu.ProxyContact)


@pytest.mark.parametrize("kind", CONTACTS)
def test_settings_go_by_keyword(kind):
    """If not, the third number of one contact is a separation, and of the next a depth."""
    first, *others = inspect.signature(kind).parameters.values()
    assert first.name == ("proxies" if kind is pdgpu.ProxyContact else "distance")
    assert all(other.kind is inspect.Parameter.KEYWORD_ONLY for other in others)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (lambda: pdgpu.BarrierContact(1e-3, 1e4, 1e-4), pdgpu.BarrierContact(1e-3, stiffness=1e4, separation=1e-4)),
        (lambda: pdgpu.PenaltyContact(1e-3, 1e4, 0.1), pdgpu.PenaltyContact(1e-3, stiffness=1e4, depth=0.1)),
        (lambda: pdgpu.PenaltyContact(thickness=1e-3, stiffness=1e4), pdgpu.PenaltyContact(distance=1e-3, stiffness=1e4)),
        (lambda: pdgpu.TwoWayContact(1e-3, 1e-4), pdgpu.TwoWayContact(1e-3, separation=1e-4)),
        (lambda: pdgpu.ProxyContact([0, 1], 10.0, "ball"), pdgpu.ProxyContact([0, 1], stiffness=10.0, field="ball")),
    ],
)
def test_calls_of_an_earlier_release_warn(before, now):
    """If not, scripts break without a word of the cure, or go on to break later."""
    with pytest.warns(DeprecationWarning, match=r"by keyword, \w+=.*end with the next release|thickness= is now called distance=") as said:
        contact = before()
    assert contact == now and len(said) == 1 and said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not isinstance(now, pdgpu.ProxyContact):  # which shows how many proxies it has
            assert eval(repr(now), {"__builtins__": {}}, dict(vars(pdgpu))) == now
        assert pickle.loads(pickle.dumps(now)) == now


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pdgpu.PenaltyContact(1e-3, thickness=1e-3, stiffness=1e4), "PenaltyContact: distance is given twice"),
        (lambda: pdgpu.PenaltyContact(distance=1e-3, thickness=1e-3, stiffness=1e4), "PenaltyContact: distance is given twice"),
        (lambda: pdgpu.BarrierContact(1e-3, 1e4, stiffness=1e4), "BarrierContact: stiffness is given twice"),
        (lambda: pdgpu.TwoWayContact(1e-3, 1e-4, 4), "TwoWayContact takes at most 2 arguments by position, got 3"),
        (lambda: pdgpu.PenaltyContact(1e-3), "stiffness"),
        (lambda: pdgpu.BarrierContact(1e-3, thickness=1e-3), "thickness"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_calls_that_make_no_sense_are_refused(call, words):
    """If not, one of two values is taken, and which one is a matter of luck."""
    with pytest.raises(TypeError, match=words):
        call()


def test_pickles_and_files_of_an_earlier_release_load(tmp_path):
    """If not, a run that was saved with a thickness cannot be resumed."""
    contact = pdgpu.PenaltyContact(1e-3, stiffness=1e4)
    old = object.__new__(pdgpu.PenaltyContact)
    old.__setstate__({"thickness": 1e-3, **{name: value for name, value in vars(contact).items() if name != "distance"}})
    assert old == contact and old.thickness == contact.distance
    scene = pdgpu.Scene()
    scene.add_particles([[0.0, 1.0, 0.0]], mass=1.0)
    sim = pdgpu.Simulation(scene, pdgpu.Newton(), contact=contact)
    sim.save(tmp_path / "s.npz")
    assert b'"thickness": 0.001' in (tmp_path / "s.npz").read_bytes()  # as earlier releases read it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pdgpu.Simulation.load(tmp_path / "s.npz").contact == contact
