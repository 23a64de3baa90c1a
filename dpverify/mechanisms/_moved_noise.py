"""The two laws of an additive mechanism: the noise moved by the sensitivity, and the noise, as densities of the output."""

from __future__ import annotations

from typing import Any

from dpverify.arithmetic.interface import Arithmetic, Value


class MovedNoise:
    """P: the noise moved by the sensitivity. Q: the noise. In the units of the output."""

    __slots__ = ()

    noise: Any

    def log_density_p(self, m: Arithmetic, x: Value) -> Value:
        """log p(x)."""
        return self.log_density_q(m, x - m.exact(self.noise.exact_sensitivity))

    def log_density_q(self, m: Arithmetic, x: Value) -> Value:
        """log q(x)."""
        scale = m.exact(self.noise.exact_scale)
        return self.noise.log_density(m, x / scale) - m.log(scale)

    def loss(self, m: Arithmetic, x: Value) -> Value:
        """The privacy loss log p(x)/q(x) in nats, where both densities are positive."""
        y = x / m.exact(self.noise.exact_scale)
        return self.noise.log_density(m, y - m.exact(self.noise.shift)) - self.noise.log_density(m, y)
