"""The list of scripted scenes and of the runs of each: solvers, tolerances and contacts as users set them."""

import dataclasses

import numpy as np
from scripted_falls import (
    box_on_slope,
    card_house,
    conveyor,
    impact,
    oblique_fall,
    resting,
    rolling_ball,
    slide,
    slide_on_mesh,
    slope,
    stack,
    straight_fall,
    wind,
)
from scripted_linkages import bones, chain, folded_cloth, hand, net, pendulum, pulling_pins, seesaw, zipper
from scripted_presses import (
    buckling,
    extrusion,
    in_and_out,
    meeting_plates,
    peg_in_hole,
    press_and_hold,
    quasi_static_press,
    quasi_static_pull,
    reopening_plates,
    squeeze,
    stamp,
    teleport,
)
from scripted_turning import cloth_on_drum, drum, roller, spinning, twist

import pdgpu

EXACT = {"tolerance": 1e-6}


def newton(*, iterations=100, **settings):
    return pdgpu.Newton(iterations=iterations, **(settings or EXACT))


def quasi_newton(*, iterations=300, **settings):
    return pdgpu.QuasiNewton(iterations=iterations, **(settings or EXACT))


def vbd(*, iterations=300, **settings):
    return pdgpu.VertexBlockDescent(iterations=iterations, **(settings or {"tolerance": 1e-4}))


def jacobi(*, iterations=1000, **settings):
    return pdgpu.BlockJacobi(iterations=iterations, **(settings or {"tolerance": 1e-4}))


def gradient(*, iterations=2000, **settings):
    return pdgpu.GradientDescent(iterations=iterations, **(settings or {"tolerance": 1e-4}))


def cg(*, iterations=500, **settings):
    return pdgpu.NonlinearCG(iterations=iterations, **(settings or {"tolerance": 1e-4}))


def admm(*, iterations=300, **settings):
    return pdgpu.ADMM(iterations=iterations, **(settings or {"tolerance": 1e-4}))


def pd(linear=None, **settings):
    """Projective Dynamics; without `tolerance` to its cap or to rounding, as ProjectiveContact wants it."""
    return pdgpu.ProjectiveDynamics(iterations=300, linear=pdgpu.Direct() if linear is None else linear, **settings)


def barrier(stiffness="auto", *, friction=0.0, distance=1e-3):
    return pdgpu.BarrierContact(distance, stiffness=stiffness, friction=friction)


def projective(friction=0.0, *, blocks=False, distance=1e-3):
    return pdgpu.ProjectiveContact(distance, friction=friction, blocks=blocks)


def two_way(friction=0.0, *, distance=1e-3):
    return pdgpu.TwoWayContact(distance, friction=friction)


def penalty(stiffness=1e4, *, friction=0.0, distance=1e-3):
    return pdgpu.PenaltyContact(distance, stiffness=stiffness, friction=friction)


def proxies(vertices, stiffness=1e4):
    return pdgpu.ProxyContact(np.arange(vertices), stiffness=stiffness)


def single(case):
    """The same in float32."""
    return dataclasses.replace(case, dtype="float32")


def finer(case, n):
    """The same with n times as many steps in the same time."""
    return dataclasses.replace(case, dt=case.dt / n, steps=case.steps * n)


# scene -> its runs, each made when it is run; the first of each is right
SCENES = {
    "slope with friction": (
        lambda: slope(newton(tolerance=1e-3)),
        lambda: slope(newton(tolerance=1e-5)),
        lambda: single(slope(newton(tolerance=1e-3))),
        lambda: slope(newton(step_tolerance=1e-3)),
        lambda: slope(pdgpu.Newton(iterations=100)),
        lambda: slope(pd(tolerance=1e-3)),
        lambda: slope(jacobi(tolerance=1e-3)),
    ),
    "straight fall": (
        lambda: straight_fall(cg(), barrier()),
        lambda: straight_fall(pd(), projective()),
        lambda: straight_fall(pd(), projective(blocks=True)),
        lambda: straight_fall(newton(), two_way()),
        lambda: finer(straight_fall(newton(), two_way()), 10),
        lambda: straight_fall(pd(tolerance=1e-4), penalty()),
        lambda: straight_fall(pd(tolerance=1e-4), proxies(27)),
    ),
    "oblique fall": (
        lambda: oblique_fall(newton(tolerance=1e-3), barrier()),
        lambda: oblique_fall(pd(), projective()),
        lambda: oblique_fall(newton(), two_way()),
        lambda: oblique_fall(vbd(tolerance=1e-3), barrier()),
        lambda: oblique_fall(quasi_newton(tolerance=1e-3), penalty()),
    ),
    "block resting": (
        lambda: resting(newton(tolerance=1e-3), barrier()),
        lambda: resting(newton(step_tolerance=1e-2), barrier(1e8), young=1e7),
        lambda: resting(pd(tolerance=1e-3), barrier(1e8)),
        lambda: resting(admm(tolerance=1e-3), barrier(1e8)),
        lambda: resting(vbd(tolerance=1e-3), barrier(1e5)),
        lambda: single(resting(vbd(tolerance=1e-3), barrier())),
        lambda: resting(jacobi(tolerance=1e-2), barrier(1e8)),
        lambda: resting(gradient(tolerance=1e-2), barrier(1e8)),
        lambda: resting(cg(tolerance=1e-3), barrier()),
        lambda: resting(pd(pdgpu.PCG(iterations=30), tolerance=1e-3), barrier()),
        lambda: resting(pd(), projective()),
        lambda: resting(vbd(tolerance=1e-3), penalty()),
        lambda: resting(pd(tolerance=1e-4), proxies(27)),
    ),
    "stack": (
        lambda: stack(newton(), barrier(friction=0.5)),
        lambda: stack(vbd(iterations=100, tolerance=1e-3), barrier(friction=0.5)),
        lambda: stack(quasi_newton(tolerance=1e-3), barrier(1e6, friction=0.5)),
        lambda: stack(pd(), projective(0.5)),
    ),
    "slide along a plane": (
        lambda: slide(newton(), barrier(1e5)),
        lambda: slide(newton(tolerance=1e-3), barrier(1e5)),
        lambda: slide(vbd(), barrier(1e5)),
        lambda: slide(jacobi(), barrier(1e5)),
        lambda: slide(pd(pdgpu.GaussSeidel(iterations=5)), projective()),
        lambda: slide(newton(), two_way()),
        lambda: slide_on_mesh(newton(), barrier()),
        lambda: slide_on_mesh(newton(), penalty()),
        lambda: finer(slide_on_mesh(newton(), penalty()), 10),
        lambda: slide_on_mesh(pd(), projective()),
        lambda: slide_on_mesh(newton(), two_way()),
    ),
    "impact of free bodies": (
        lambda: impact(newton(), barrier()),
        lambda: impact(jacobi(tolerance=1e-3), barrier()),
        lambda: impact(pd(), projective()),
        lambda: impact(newton(), two_way()),
        lambda: single(impact(newton(tolerance=1e-3), two_way())),
        lambda: impact(vbd(tolerance=1e-3), penalty()),
    ),
    "wind": (
        lambda: wind(newton(tolerance=1e-4)),
        lambda: wind(pd(tolerance=1e-3)),
    ),
    "conveyor": (
        lambda: conveyor(quasi_newton(tolerance=1e-4), barrier(friction=0.5)),
        lambda: conveyor(jacobi(tolerance=1e-3), barrier(friction=0.5)),
        lambda: conveyor(pd(), projective(0.5)),
        lambda: single(conveyor(pd(), projective(0.5))),
        lambda: conveyor(newton(), penalty(friction=0.5)),
    ),
    "rigid ball rolling": (
        lambda: rolling_ball(newton(tolerance=1e-4)),
        lambda: rolling_ball(vbd(tolerance=1e-3)),
    ),
    "rigid box on a slope": (
        lambda: box_on_slope(newton(tolerance=1e-4), degrees=20, mu=0.5),
        lambda: box_on_slope(quasi_newton(tolerance=1e-3), degrees=20, mu=0.5),
        lambda: box_on_slope(vbd(tolerance=1e-3), degrees=35, mu=0.5),
    ),
    "card house": (
        lambda: card_house(newton(tolerance=1e-4), barrier(friction=0.8)),
        lambda: card_house(jacobi(tolerance=1e-3), barrier(friction=0.8)),
    ),
    "squeeze": (
        lambda: squeeze(newton(), barrier()),
        lambda: single(squeeze(newton(tolerance=1e-4), barrier())),
        lambda: squeeze(jacobi(tolerance=1e-2), barrier(1e7)),
        lambda: squeeze(pd(), projective()),
        lambda: squeeze(vbd(tolerance=1e-3), penalty(1e5)),
    ),
    "stamp": (
        lambda: stamp(quasi_newton(), barrier()),
        lambda: stamp(pd(tolerance=1e-3), barrier(1e7)),
        lambda: stamp(pd(), projective()),
    ),
    "press and hold": (
        lambda: press_and_hold(vbd(tolerance=1e-4), barrier()),
        lambda: press_and_hold(newton(step_tolerance=1e-2), barrier()),
        lambda: press_and_hold(admm(tolerance=1e-3), barrier(1e6)),
        lambda: press_and_hold(pd(), projective()),
    ),
    "obstacle driven in and withdrawn": (
        lambda: in_and_out(newton(), barrier(1e4, distance=2e-3)),
        lambda: in_and_out(pd(), projective(distance=2e-3)),
        lambda: in_and_out(gradient(tolerance=1e-3), barrier(1e4, distance=2e-3)),
    ),
    "teleport": (
        lambda: teleport(newton(), barrier()),
        lambda: teleport(pd(), projective()),
        lambda: teleport(vbd(tolerance=1e-3), barrier()),
    ),
    "peg in hole": (
        lambda: peg_in_hole(newton(), barrier()),
        lambda: peg_in_hole(pd(tolerance=1e-3), barrier()),
        lambda: peg_in_hole(vbd(tolerance=1e-3), barrier()),
    ),
    "plates that meet and reopen": (
        lambda: reopening_plates(newton(), barrier()),
        lambda: meeting_plates(newton(), barrier(1e5)),
        lambda: meeting_plates(pd(), projective()),
        lambda: meeting_plates(newton(), barrier()),
        lambda: reopening_plates(jacobi(tolerance=1e-3), barrier()),
    ),
    "quasi-static increments": (
        lambda: quasi_static_pull(timed=True),
        lambda: quasi_static_pull(timed=False),
        lambda: quasi_static_press(newton(), timed=False),
        lambda: quasi_static_press(newton(), timed=True),
        lambda: quasi_static_press(pd(tolerance=1e-4), timed=True),
    ),
    "extrusion": (
        lambda: extrusion(newton(), barrier()),
        lambda: extrusion(jacobi(tolerance=1e-3), barrier()),
        lambda: extrusion(pd(), projective()),
    ),
    "strip buckling against a plane": (
        lambda: buckling(newton(), barrier()),
        lambda: buckling(quasi_newton(tolerance=1e-3), barrier(1e6)),
        lambda: buckling(pd(), projective()),
    ),
    "roller": (
        lambda: roller(newton(tolerance=1e-2), barrier(friction=0.3), newton(tolerance=1e-9)),
        lambda: roller(pd(tolerance=1e-3), barrier(friction=0.3), newton(tolerance=1e-9)),
    ),
    "drum": (
        lambda: drum(newton(), barrier(friction=0.5)),
        lambda: drum(jacobi(tolerance=1e-3), barrier(friction=0.5)),
        lambda: drum(pd(), projective(0.5)),
    ),
    "spinning obstacle under a block": (
        lambda: spinning(newton(), barrier(friction=0.4)),
        lambda: spinning(vbd(tolerance=1e-3), barrier(friction=0.4)),
        lambda: spinning(quasi_newton(tolerance=1e-3), penalty(friction=0.4)),
    ),
    "cloth on drum": (
        lambda: cloth_on_drum(newton(), barrier(friction=0.3)),
        lambda: cloth_on_drum(quasi_newton(tolerance=1e-3), barrier(friction=0.3)),
        lambda: cloth_on_drum(pd(), projective(0.3)),
    ),
    "twist": (
        lambda: twist(newton(tolerance=1e-4), barrier()),
        lambda: twist(pd(tolerance=1e-3), barrier()),
        lambda: twist(pd(), projective()),
    ),
    "hand gripping": (
        lambda: hand(newton(), barrier(friction=0.8)),
        lambda: single(hand(newton(tolerance=1e-4), barrier(friction=0.8))),
        lambda: hand(pd(tolerance=1e-3), barrier(friction=0.8)),
        lambda: hand(pd(), projective(0.8)),
    ),
    "bones": (
        lambda: bones(newton(), barrier()),
        lambda: bones(vbd(tolerance=1e-3), barrier()),
        lambda: bones(pd(), projective()),
    ),
    "net with ball": (
        lambda: net(newton(tolerance=1e-4), barrier()),
        lambda: net(vbd(tolerance=1e-3), barrier()),
        lambda: net(pd(), projective(), rigid=False),
    ),
    "chain of links": (
        lambda: chain(newton(tolerance=1e-4), barrier()),
        lambda: chain(quasi_newton(tolerance=1e-3), barrier()),
        lambda: chain(vbd(iterations=100, tolerance=1e-3), barrier(), rigid=False),
    ),
    "zipper": (
        lambda: zipper(newton(), barrier()),
        lambda: zipper(gradient(iterations=500, tolerance=1e-3), barrier()),
        lambda: zipper(pd(), projective()),
    ),
    "two scripted pins pulling": (
        lambda: pulling_pins(newton(), barrier()),
        lambda: pulling_pins(cg(tolerance=1e-3), barrier()),
        lambda: pulling_pins(pd(), projective()),
    ),
    "seesaw": (
        lambda: seesaw(newton(), barrier(friction=0.5)),
        lambda: seesaw(newton(tolerance=1e-2), barrier(1e7, friction=0.5)),
    ),
    "pendulum against a wall": (
        lambda: pendulum(newton(), barrier()),
        lambda: pendulum(vbd(iterations=100, tolerance=1e-3), barrier()),
        lambda: pendulum(newton(), two_way()),
        lambda: pendulum(pd(), projective()),
    ),
    "cloth folded": (
        lambda: folded_cloth(newton(), barrier(friction=0.3)),
        lambda: folded_cloth(pd(tolerance=1e-3), barrier(friction=0.3)),
        lambda: folded_cloth(pd(), projective(0.3)),
    ),
}


# scenes of `make test`, by their first run
QUICK = (
    *("slope with friction", "block resting", "slide along a plane", "conveyor", "rigid box on a slope", "squeeze", "press and hold"),
    *("teleport", "cloth on drum", "hand gripping", "bones", "chain of links", "zipper", "seesaw"),
)


def runs():
    """(scene, place of the run in it) of all runs."""
    return [(scene, k) for scene, cases in SCENES.items() for k in range(len(cases))]


def case_of(scene, k):
    return SCENES[scene][k]()


def described(case):
    """The solver and the contact of a case in words."""
    settings = [f"{name}={value:g}" for name in ("tolerance", "step_tolerance") if (value := getattr(case.solver, name, 0.0))]
    linear = getattr(case.solver, "linear", None)
    settings += [type(linear).__name__] * (linear is not None and not isinstance(linear, pdgpu.Direct))
    contact = case.contact
    if contact is None:
        return " ".join([type(case.solver).__name__, *settings]), ""
    stiffness, friction = getattr(contact, "stiffness", ""), getattr(contact, "friction", 0.0)
    parts = [type(contact).__name__.removesuffix("Contact"), stiffness if isinstance(stiffness, str) else f"{stiffness:g}"]
    parts += [f"friction {friction:g}"] * (friction > 0.0) + ["blocks"] * getattr(contact, "blocks", False)
    return " ".join([type(case.solver).__name__, *settings]), " ".join(filter(None, parts))
