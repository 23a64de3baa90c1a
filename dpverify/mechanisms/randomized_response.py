"""Randomized response on one bit."""

from __future__ import annotations

from dpverify.mechanisms._response import FlipParameter, Response


class RandomizedResponse(Response):
    """Report a bit truthfully with probability 1 - flip, and the other bit with probability flip: pure DP.

    delta(eps) = max(0, 1 - flip - e^eps flip) for eps >= 0; eps = log((1 - flip)/flip) at delta = 0. The least flip
    probability is (1 - delta)/(1 + e^eps), 0 < flip <= 1/2. Neighbours are the two bits: there is no sensitivity.
    [Warner 1965]
    """

    __slots__ = ()
    name = "randomized-response"
    flip = FlipParameter()

    @property
    def values(self) -> int:
        return 2

    @classmethod
    def expression(cls, solved: str) -> str:
        return {
            "delta": "max(0, 1 - flip - exp(epsilon)*flip) + max(0, flip - exp(epsilon)*(1 - flip))",
            "epsilon": "max(0, log((1 - flip - delta)/flip))",
            "flip": "(1 - delta)/(1 + exp(epsilon))",
        }[solved]
