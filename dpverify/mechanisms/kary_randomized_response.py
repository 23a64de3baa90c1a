"""Randomized response on k values."""

from __future__ import annotations

from dpverify.mechanisms._parameters import WholeParameter
from dpverify.mechanisms._response import FlipParameter, Response


class KaryRandomizedResponse(Response):
    """Report one of k values truthfully with probability 1 - flip, and each other one with flip/(k - 1): pure DP.

    delta(eps) = max(0, 1 - flip - e^eps flip/(k - 1)) for eps >= 0; eps = log((k - 1)(1 - flip)/flip) at delta = 0. The
    least flip probability is (1 - delta)(k - 1)/(k - 1 + e^eps), 0 < flip <= (k - 1)/k. Neighbours are any two values: there
    is no sensitivity. [Kairouz, Bonawitz & Ramage 2016]
    """

    __slots__ = ()
    name = "kary-randomized-response"
    flip = FlipParameter()
    k = WholeParameter("k", meaning="how many values there are", typical=("3", "100"), least=2)

    @property
    def values(self) -> int:
        return int(self.exact_parameters["k"].p)

    @classmethod
    def expression(cls, solved: str) -> str:
        return {
            "delta": "max(0, 1 - flip - exp(epsilon)*flip/(k - 1)) + max(0, flip/(k - 1) - exp(epsilon)*(1 - flip))"
            " + max(0, (k - 2)*flip/(k - 1)*(1 - exp(epsilon)))",
            "epsilon": "max(0, log((1 - flip - delta)*(k - 1)/flip))",
            "flip": "(1 - delta)*(k - 1)/(k - 1 + exp(epsilon))",
        }[solved]
