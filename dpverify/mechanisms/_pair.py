"""The dominating pair of additive noise: two output laws from which every privacy notion is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpverify.arithmetic.enclosure import Enclosure
from dpverify.arithmetic.exact import Number
from dpverify.arithmetic.interface import Arithmetic, Value

if TYPE_CHECKING:
    from dpverify.mechanisms._additive import AdditiveNoise


@dataclass(frozen=True, slots=True, kw_only=True)
class DominatingPair:
    """P: the noise moved by the sensitivity. Q: the noise. No pair of neighbours has a larger hockey-stick divergence,
    at any epsilon, and by symmetry the order of the two does not matter."""

    noise: AdditiveNoise

    def log_density_p(self, m: Arithmetic, x: Value) -> Value:
        """log p(x), x in the units of the output."""
        return self.log_density_q(m, x - m.exact(self.noise.exact_sensitivity))

    def log_density_q(self, m: Arithmetic, x: Value) -> Value:
        """log q(x), x in the units of the output."""
        scale = m.exact(self.noise.exact_scale)
        return self.noise.log_density(m, x / scale) - m.log(scale)

    def loss(self, m: Arithmetic, x: Value) -> Value:
        """The privacy loss log p(x)/q(x) in nats; non-decreasing in x."""
        d, y = m.exact(self.noise.shift), x / m.exact(self.noise.exact_scale)
        return self.noise.log_density(m, y - d) - self.noise.log_density(m, y)

    def hockey_stick(self, epsilon: Number, *, digits: int = 15) -> Enclosure:
        """sup over S of P(S) - e^epsilon Q(S), certified, for every real epsilon."""
        enclosure: Enclosure = self.noise.delta(epsilon, digits=digits)
        return enclosure
