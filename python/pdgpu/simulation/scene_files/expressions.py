"""Formulas in x, y, z and t that polyfem writes as strings, with the functions of tinyexpr and polyfem."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pdgpu.types import Floats

__all__ = ["Displacement", "Expression"]

TOKEN = re.compile(r"\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(.))")
LONGEST, DEEPEST = 10_000, 64
CONSTANTS = {"pi": math.pi, "e": math.e}
FUNCTIONS = {
    **{name: (1, getattr(np, name)) for name in ("cos", "sin", "tan", "exp", "sqrt", "floor", "ceil", "sinh", "cosh", "tanh", "log10")},
    **{name: (1, getattr(np, f"arc{name[1:]}")) for name in ("acos", "asin", "atan")},
    "abs": (1, np.abs),
    "ln": (1, np.log),
    "atan2": (2, np.arctan2),
    "pow": (2, np.power),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
    "deg2rad": (1, np.radians),
    "rotate_2D_x": (3, lambda x, y, angle: x * np.cos(angle) - y * np.sin(angle)),
    "rotate_2D_y": (3, lambda x, y, angle: x * np.sin(angle) + y * np.cos(angle)),
    "smooth_abs": (2, lambda x, k: np.tanh(k * x) * x),
    "if": (3, lambda check, then, otherwise: np.where(check >= 0.0, then, otherwise)),
    "sign": (1, np.sign),
}
BINARY = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod, "^": np.power}


class _Chain(NamedTuple):
    """Operators of one rank from the left; it is flat, since a tree of as many levels overflows the stack."""

    first: Any
    others: list[tuple[Any, Any]]  # a function and its right operand


class _Reader:
    """A recursive descent: sums of products of powers; a sign binds closer than ^, and ^ goes from the left, as in tinyexpr."""

    def __init__(self, text):
        self.tokens = [found.groups() for found in TOKEN.finditer(text.rstrip())]
        self.at = self.depth = 0

    def symbol(self):
        return self.tokens[self.at][2] if self.at < len(self.tokens) else ""

    def take(self, symbol):
        if self.symbol() != symbol:
            raise ValueError(f"expected {symbol!r}, got {self.shown()}")
        self.at += 1

    def shown(self):
        return repr("".join(filter(None, self.tokens[self.at]))) if self.at < len(self.tokens) else "the end"

    def chain(self, symbols, below):
        first, others = below(), []
        while self.symbol() and self.symbol() in symbols:
            symbol = self.symbol()
            self.at += 1
            others.append((BINARY[symbol], below()))
        return _Chain(first, others) if others else first

    def sum(self):
        self.depth += 1
        if self.depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
        tree = self.chain("+-", lambda: self.chain("*/%", lambda: self.chain("^", self.signed)))
        self.depth -= 1
        return tree

    def signed(self):
        negative = False
        while self.symbol() and self.symbol() in "+-":
            negative ^= self.symbol() == "-"
            self.at += 1
        tree = self.base()
        return (np.negative, (tree,)) if negative else tree

    def base(self):
        if self.at >= len(self.tokens):
            raise ValueError("it ends too early")
        number, name, symbol = self.tokens[self.at]
        if symbol == "(":
            self.at += 1
            tree = self.sum()
            self.take(")")
            return tree
        if number is not None:
            self.at += 1
            return float(number)
        if name is None:
            raise ValueError(f"expected a number, a name or '(', got {self.shown()}")
        self.at += 1
        if name in ("x", "y", "z", "t"):
            return name
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name not in FUNCTIONS:
            raise ValueError(f"the name {name[:40]!r} is not known; known are x y z t pi e {' '.join(FUNCTIONS)}")
        n, function = FUNCTIONS[name]
        self.take("(")
        arguments = [self.sum()]
        while len(arguments) < n:
            self.take(",")
            arguments.append(self.sum())
        self.take(")")
        return (function, tuple(arguments))


def _evaluated(tree, values):
    if isinstance(tree, str):
        return values[tree]
    if isinstance(tree, float):
        return tree
    if isinstance(tree, _Chain):
        value = _evaluated(tree.first, values)
        for function, other in tree.others:
            value = function(value, _evaluated(other, values))
        return value
    function, arguments = tree
    return function(*(_evaluated(argument, values) for argument in arguments))


class Expression:
    """A number, or a formula as a string; ValueError for a string that cannot be read."""

    def __init__(self, source: Any):
        self.source = source
        if isinstance(source, str):
            if len(source) > LONGEST:
                raise ValueError(f"the formula has {len(source)} characters; at most {LONGEST}")
            reader = _Reader(source)
            self._tree = reader.sum()
            if reader.at < len(reader.tokens):
                raise ValueError(f"{reader.shown()} is unexpected")
        elif isinstance(source, bool) or not isinstance(source, int | float):
            raise ValueError("expected a number or a formula as a string")
        else:
            self._tree = float(source)

    def __reduce__(self):
        return Expression, (self.source,)

    @property
    def is_zero(self) -> bool:
        """Whether it is the number 0."""
        return self._tree == 0.0

    def __call__(self, points: Floats, time: float) -> Floats:
        """Values at points (n, 3) m and a time, (n,)."""
        values = {"x": points[:, 0], "y": points[:, 1], "z": points[:, 2], "t": np.float64(time)}
        with np.errstate(all="ignore"):  # a result that is not finite is an error of the motion
            return np.broadcast_to(np.asarray(_evaluated(self._tree, values), dtype=np.float64), (len(points),))


@dataclass(frozen=True, eq=False)
class Displacement:
    """The motion x + u(x, t) of three formulas."""

    parts: tuple[Expression, Expression, Expression]

    def __call__(self, time: float, rest: Floats) -> Floats:
        return rest + np.stack([part(rest, time) for part in self.parts], axis=1)
