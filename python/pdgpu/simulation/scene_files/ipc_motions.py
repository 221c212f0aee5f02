"""The named scripts of IPC: which vertices they hold or move, from the boxes about shapes [github.com/ipc-sim/IPC, AnimScripter]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pdgpu.simulation.scene_files.motions import Rotating, Sliding, centre_of_box

if TYPE_CHECKING:
    from pdgpu.simulation.scene_files.ipc_scene import Placed
    from pdgpu.simulation.scene_files.ipc_script import IpcScript
    from pdgpu.simulation.scene_files.notes import SceneNotes
    from pdgpu.types import Floats

__all__ = ["everything", "scripted_motions"]

X, Y, Z = np.eye(3)


def scripted_motions(placed: list[Placed], script: IpcScript, notes: SceneNotes) -> None:
    """Do what the script of that name does to shapes at their places."""
    line = script.lines["script"]
    if script.script not in _SCRIPTS:
        known = ", ".join(["null", *_SCRIPTS])
        notes.refuse(line, "script", f"the script {script.script[:40]!r} of IPC is not supported; supported are {known}")
        return
    needed = _SHAPES_NEEDED.get(script.script, 1)
    if len(placed) < needed:
        notes.fail(line, "script", f"{script.script} needs {needed} shapes, and there are {len(placed)}")
    loose = [one for one in placed if not len(one.part.tets)]
    if loose and not script.script.startswith("DCO"):
        notes.replace(loose[0].shape.line, "shapes", f"with the script {script.script} surfaces move freely in IPC; here they are at rest")
    _SCRIPTS[script.script](placed, script, notes)


def everything(placed: list[Placed], what: str = "points") -> Floats:
    """The points of all shapes, or their positions at rest by "rest", (n, 3) m."""
    return np.concatenate([getattr(one, what) for one in placed])


def _hold(placed, selected, motion=None):
    """Pin the vertices for which `selected(points)` holds, in all solids."""
    for one in placed:
        rows = np.flatnonzero(selected(one.points))
        if one.is_solid and len(rows):
            one.pins.append((rows, motion))


def _handles(placed, script):
    """The lower and upper limit in x of the vertices at both ends."""
    rest = everything(placed, "rest")
    lower, size = rest[:, 0].min(), np.ptp(rest[:, 0])
    return lower + size * script.handle, lower + size - size * script.handle


def _hold_ends(placed, script, motions):
    """Pin both ends in x, chosen by the rest shape, with a motion each."""
    left, right = _handles(placed, script)
    for one in placed:
        if not one.is_solid:
            continue
        x = one.rest[:, 0]
        for rows, motion in ((np.flatnonzero(x < left), motions[0]), (np.flatnonzero((x >= left) & (x > right)), motions[1])):
            if len(rows):
                one.pins.append((rows, motion))


def _slide(one, velocity, script, seconds=None):
    one.moved, one.motion = True, Sliding(velocity, script.dt, seconds)


def _spin(one, axis, speed):
    one.moved, one.motion = True, Rotating(axis, speed, centre_of_box(one.points), np.zeros(3))


def _steps(script):
    return min(int(np.ceil(script.duration / script.dt)) + 1, 1_000_000)


def _until(script, goes_on) -> Floats:
    """Seconds of motion at the end of each step; a step moves if `goes_on(seconds)` holds at its start."""
    seconds = np.zeros(_steps(script) + 1)
    for k in range(1, len(seconds)):
        seconds[k] = seconds[k - 1] + (script.dt if goes_on(seconds[k - 1]) else 0.0)
    return seconds


# ---- the scripts ---------------------------------------------------------------------------------------------------------------


def _free(placed, script, notes):
    pass


def _lift(placed):
    points = everything(placed)
    shift = 0.5 * np.linalg.norm(np.ptp(points, axis=0)) * Y
    for one in placed:
        one.points = one.points + shift


def _fall(placed, script, notes):
    _lift(placed)


def _hang_left(placed, script, notes):
    points = everything(placed)
    left, _ = _handles(placed, script)
    lower, upper = points[:, 2].min(), points[:, 2].max()
    for one in placed:
        rows = np.flatnonzero((one.rest[:, 0] < left) & (one.points[:, 2] >= lower) & (one.points[:, 2] <= upper))
        if one.is_solid and len(rows):
            one.pins.append((rows, None))


def _hold_lower_half(placed, script, notes):
    y = everything(placed)[:, 1]
    _hold(placed, lambda points: points[:, 1] < y.min() + 0.5 * np.ptp(y))


def _stand(placed, script, notes):
    y = everything(placed)[:, 1]
    _hold(placed, lambda points: points[:, 1] < y.min() + 0.01 * np.ptp(y))


def _hang(placed, script, notes):
    y = everything(placed)[:, 1]
    _hold(placed, lambda points: points[:, 1] > y.max() - 0.01 * np.ptp(y))


def _twist(placed, script, notes):
    centre = centre_of_box(everything(placed, "rest"))
    _hold_ends(placed, script, [Rotating(0, sign * 0.4 * np.pi, centre, np.zeros(3)) for sign in (-1.0, 1.0)])


def _twist_and_stretch(placed, script, notes):
    centre = centre_of_box(everything(placed, "rest"))
    _hold_ends(placed, script, [Rotating(0, sign * 0.1 * np.pi, centre, sign * 0.1 * X) for sign in (-1.0, 1.0)])


def _stretch(placed, script, notes):
    _hold_ends(placed, script, [Sliding(sign * 0.1 * X, script.dt) for sign in (-1.0, 1.0)])


def _squash(placed, script, notes):
    _hold_ends(placed, script, [Sliding(sign * 0.03 * X, script.dt) for sign in (1.0, -1.0)])


def _stretch_and_pause(placed, script, notes):
    x = everything(placed)[:, 0]
    left, right = x.min() + 0.01 * np.ptp(x), x.max() - 0.01 * np.ptp(x)
    at = x[np.argmax(x < left)]
    seconds = _until(script, lambda s: at - s >= -0.28)
    _hold(placed, lambda points: points[:, 0] < left, Sliding(-X, script.dt, seconds))
    _hold(placed, lambda points: (points[:, 0] >= left) & (points[:, 0] > right), Sliding(X, script.dt, seconds))


def _drag_right(placed, script, notes):
    _lift(placed)
    x = everything(placed)[:, 0]
    _hold(placed, lambda points: points[:, 0] > x.max() - 0.04 * np.ptp(x), Sliding(0.5 * X, script.dt))
    notes.replace(script.lines["script"], "script", "dragright frees the right end behind the obstacle; here it is held to the end")


def _drag_down(placed, script, notes):
    _lift(placed)
    points = everything(placed)
    lower, size = points.min(axis=0), np.ptp(points, axis=0)

    def middle(p):
        at = (p - lower) / np.where(size > 0.0, size, 1.0)
        return (at[:, 1] < 0.1) & (at[:, 0] < 0.52) & (at[:, 0] > 0.42)

    _hold(placed, middle, Sliding(-1.5 * Y, script.dt))


def _push_rightmost(placed, script, notes):
    _one_rightmost(placed, Sliding(-0.15 * X, script.dt))


def _fix_rightmost(placed, script, notes):
    _one_rightmost(placed, None)


def _one_rightmost(placed, motion):
    x = everything(placed)[:, 0]
    for one in placed:
        rows = np.flatnonzero(one.points[:, 0] > x.max() - 1e-3 * np.ptp(x))
        if len(rows):
            if one.is_solid:
                one.pins.append((rows[:1], motion))
            return


def _spin_cylinders(placed, script, notes):
    for one, (axis, speed) in zip(placed, ((0, 0.5), (0, -0.5), (2, -0.5), (2, 0.5)), strict=False):
        _spin(one, axis, speed * np.pi)


def _spin_rollers(placed, script, notes):
    for one, (axis, speed) in zip(placed, ((2, -4.0), (2, -2.0), (2, 2.0), (2, 4.0), (0, 2.0), (0, -2.0)), strict=False):
        _spin(one, axis, speed)


def _squash_between(placed, script, notes, directions):
    """Pairs of shapes approach at 1 m/s, and turn back where the first two are nearer than 0.1 m."""
    gap = placed[1].points[:, 0].min() - placed[0].points[:, 0].max()
    seconds, sign = np.zeros(_steps(script) + 1), 1.0
    for k in range(1, len(seconds)):
        if gap - 2.0 * seconds[k - 1] < 0.1:
            sign = -sign
        seconds[k] = seconds[k - 1] + sign * script.dt
    for one, direction in zip(placed, directions, strict=False):
        _slide(one, direction, script, seconds)


def _squash_two(placed, script, notes):
    _squash_between(placed, script, notes, (X, -X))


def _squash_six(placed, script, notes):
    _squash_between(placed, script, notes, (X, -X, Y, -Y, Z, -Z))


def _squash_beds(placed, script, notes):
    half = (len(placed) + 1) // 2
    upper = [one for one in placed[half:] if one.moved]
    lower = [one for one in placed[:half] if one.moved]
    if not upper or not lower:
        notes.fail(script.lines["script"], "script", "DCOSegBedSquash needs surfaces, segments or points in both halves of the shapes")
    top = min(one.points[:, 1].min() for one in upper)
    bottom = max(one.points[:, 1].max() for one in lower)
    seconds = _until(script, lambda s: top - s - bottom > 0.1)
    for one in upper:
        _slide(one, -Y, script, seconds)


def _hit_wall(placed, script, notes):
    speed = script.script_numbers[0] if script.script_numbers else 1000.0
    for one in placed:
        if one.is_solid:
            one.velocity = speed * X


def _squeeze_out(placed, script, notes):
    top, box = placed[0].points[:, 1].max(), placed[1].points[:, 1]
    if not (placed[0].moved and placed[1].moved):
        notes.fail(script.lines["script"], "script", "DCOSqueezeOut needs two surfaces as its first shapes")
    end = box.min() + np.ptp(box) / 3.8 * 0.9
    _slide(placed[0], -0.3 * Y, script, _until(script, lambda s: top - 0.3 * s > end))


_SHAPES_NEEDED = {"DCORotCylinders": 5, "DCOVerschoorRoller": 7, "DCOSquash": 3, "DCOSquash6": 7, "DCOSqueezeOut": 3, "DCOSegBedSquash": 2}
_SCRIPTS = {
    "fall": _fall,
    "fallNoShift": _free,
    "hang2": _hang,
    "hangLeft": _hang_left,
    "stand": _stand,
    "fixLowerHalf": _hold_lower_half,
    "twist": _twist,
    "twistnstretch": _twist_and_stretch,
    "stretch": _stretch,
    "squash": _squash,
    "stretchAndPause": _stretch_and_pause,
    "dragright": _drag_right,
    "dragdown": _drag_down,
    "pushRightMost1": _push_rightmost,
    "fixRightMost1": _fix_rightmost,
    "DCOFix": _free,
    "DCORotCylinders": _spin_cylinders,
    "DCOVerschoorRoller": _spin_rollers,
    "DCOSquash": _squash_two,
    "DCOSquash6": _squash_six,
    "DCOSegBedSquash": _squash_beds,
    "DCOBallHitWall": _hit_wall,
    "DCOSqueezeOut": _squeeze_out,
}
