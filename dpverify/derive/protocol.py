"""What a family must state so that the engine can derive its profile. Mechanisms fulfil this without importing it."""

from __future__ import annotations

from typing import Protocol

from dpverify.arithmetic.interface import Arithmetic, Value


class NoiseFormulas(Protocol):
    """The formulas of additive symmetric log-concave noise, in units of the scale, written against an arithmetic.

    They mean what the attributes of the same names mean in `mechanisms/_additive.py`.
    """

    @property
    def name(self) -> str: ...

    @property
    def scale_name(self) -> str: ...

    @property
    def loss_slope(self) -> int | None: ...

    def log_density(self, m: Arithmetic, x: Value) -> Value: ...

    def cdf(self, m: Arithmetic, x: Value) -> Value: ...

    def threshold(self, m: Arithmetic, eps: Value, d: Value) -> Value: ...

    def profile(self, m: Arithmetic, eps: Value, d: Value) -> Value: ...

    def shift_for(self, m: Arithmetic, eps: Value, delta: Value) -> Value | None: ...

    def epsilon_for(self, m: Arithmetic, delta: Value, d: Value) -> Value | None: ...
