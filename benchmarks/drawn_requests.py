"""Random requests to the catalogue: how each is drawn, what dpverify is asked, and what an outsider has to know of it."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

from mpmath import mp
from outsiders import CUSTOM, exactly, outsider
from safe_doubles import EDGE_DELTAS, EDGE_EPSILONS, EDGE_SENSITIVITIES, log_uniform

from dpverify.mechanisms import by_name
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.mechanisms._bounded import BoundedOutput
from dpverify.mechanisms._discrete import IntegerNoise
from dpverify.mechanisms._selection import Selection
from dpverify.notions import approximate, concentrated, gaussian_dp, loss, probabilistic, renyi, trade_off

CORE = ("delta", "epsilon", "bound", "bound", "calibrate", "calibrate")
NOTIONS = (
    "total variation",
    "probability",
    "least probabilistic epsilon",
    "renyi",
    "mean loss",
    "loss cdf",
    "trade-off",
    "rho",
    "mu",
)
NOISE = ("tail probability", "variance", "second opinion")

UNBOUNDED = ("gaussian", "generalized-gaussian", "subbotin", "discrete-gaussian", "staircase", "student-t")
"""Here a small delta does not mean that the loss hardly passes epsilon."""


class Request:
    """One random request: family, question, parameters."""

    def __init__(self, seed: int, number: int, families: list[str]) -> None:
        rng = random.Random(f"{seed}:{number}")
        self.number = number
        self.name = families[number % len(families)]
        self.family = by_name(self.name)
        self.epsilon, self.delta, self.sensitivity = _budget(rng)
        self.shape = _shape(rng, self.name)
        self.scale = ""
        self.extra: dict[str, Any] = {}
        self._suit(rng)
        self.question = rng.choice(self._questions())
        if self.question == "bound" and self.delta == "0":
            self.epsilon = self.epsilon if float(self.epsilon) else "1e-12"

    def _suit(self, rng: random.Random) -> None:
        """A sensitivity that the family can have, and a scale for the questions that need one."""
        family = self.family
        if issubclass(family, IntegerNoise):
            self.sensitivity = str(max(1, int(float(self.sensitivity))))
            if self.name == "truncated-geometric":
                self.shape["largest"] = str(int(self.sensitivity) * rng.choice([1, 2, 1000]))
        if issubclass(family, BoundedOutput):
            count = rng.choice([1, 1, 1, 2, 3])
            shifts = [self.sensitivity, *(f"{float(self.sensitivity) * rng.uniform(1e-3, 1):.6e}" for _ in range(count - 1))]
            ratios = [rng.choice(["1", "1.5", "2", log_uniform(rng, 1, 1e3), log_uniform(rng, 1, 1e9)]) for _ in shifts]
            self.shape["upper"] = tuple(Fraction(a) * Fraction(b) for a, b in zip(shifts, ratios, strict=True))
            self.sensitivity = tuple(shifts)
            self.delta = "0" if rng.random() < 0.9 else self.delta
            self.scale = f"{float(max(self.shape['upper'])) * 10 ** rng.uniform(-1, 3):.6e}"
            return
        if self.name == "k-norm":
            count = rng.choice([1, 1, 2, 5])
            self.shape |= {"dimension": count, "adjacency": "box"}
            self.sensitivity = tuple([self.sensitivity] * count)
            self.delta = "0" if count > 1 and rng.random() < 0.9 else self.delta
        if "response" in self.name:
            self.sensitivity = "1"
            self.scale = rng.choice([log_uniform(rng, 1e-12, 0.5), f"{rng.uniform(0, 0.5):.6f}"])
            return
        first = float(self.sensitivity[0] if isinstance(self.sensitivity, tuple) else self.sensitivity)
        low, high = (-3, 3) if rng.random() < 0.7 else (-6, 2)
        self.scale = f"{first / 10 ** rng.uniform(low, high):.6e}"

    def _questions(self) -> list[str]:
        found = list(CORE)
        if issubclass(self.family, BoundedOutput) or self.name == "k-norm":
            return [*found, "epsilon"]
        found += NOTIONS
        if issubclass(self.family, AdditiveNoise):
            found += NOISE
            if hasattr(self.family, "bound_probabilistic"):
                found.append("bound probabilistic")
        return found

    def described(self) -> dict[str, Any]:
        """As it would be repeated."""
        return {
            "number": self.number,
            "mechanism": self.name,
            "question": self.question,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "sensitivity": self.sensitivity,
            "scale": self.scale,
            **{key: str(value) for key, value in self.shape.items()},
            **self.extra,
        }

    # What dpverify is asked.

    def _fixed(self) -> dict[str, Any]:
        given: dict[str, Any] = dict(self.shape)
        if "response" not in self.name:
            given["sensitivity"] = self.sensitivity if len(self.sensitivity) != 1 else self.sensitivity[0]
        if self.name == "custom-noise":
            given["density"] = self.shape["density"]
        return given

    def member(self, scale: Any = None) -> Any:
        """The mechanism at the scale of the request, or another."""
        return self.family(**{self.family.scale_name: self.scale if scale is None else scale}, **self._fixed())

    def asked(self) -> Any:
        """Dpverify's answer."""
        rng = random.Random(f"extra:{self.number}")
        question = self.question
        if question == "bound":
            return self.family.bound(epsilon=self.epsilon, delta=self.delta, **self._fixed())
        if question == "calibrate":
            return getattr(
                self.family.calibrate(epsilon=self.epsilon, delta=self.delta, **self._fixed()), self.family.scale_name
            )
        if question == "bound probabilistic":
            reading = {"reading": "pairwise"} if issubclass(self.family, AdditiveNoise) else {}
            return self.family.bound_probabilistic(epsilon=self.epsilon, delta=self.delta, **reading, **self._fixed())
        member = self.member()
        if question == "delta":
            return member.delta(self.epsilon)
        if question == "epsilon":
            return member.epsilon(self.delta)
        if question == "second opinion":
            which = self.extra["of"] = rng.choice(["delta", "epsilon"])
            return (member.delta if which == "delta" else member.epsilon)(
                self.epsilon if which == "delta" else self.delta, arithmetic="mpmath"
            )
        if question == "total variation":
            return approximate.total_variation(member)
        if question == "probability":
            return probabilistic.probability(member, self.epsilon)
        if question == "least probabilistic epsilon":
            return probabilistic.least_epsilon(member, self.delta)
        if question == "loss cdf":
            return loss.of(member).cdf(self.epsilon)
        if question == "renyi":
            order = self.extra["order"] = rng.choice(
                ["2", "1/2", "3/2", "16", f"1.{rng.randrange(1, 1000)}", log_uniform(rng, 1.01, 1e3)]
            )
            return renyi.divergence(member, order)
        if question == "mean loss":
            return renyi.divergence(member, 1)
        if question == "trade-off":
            level = self.extra["level"] = rng.choice([f"{rng.uniform(0.001, 0.999):.6f}", log_uniform(rng, 1e-12, 0.1)])
            return trade_off.trade_off(member, level)
        if question == "rho":
            return concentrated.rho(member)
        if question == "mu":
            return gaussian_dp.mu(member)
        if question == "variance":
            return member.variance()
        bound = self.extra["bound"] = f"{float(Fraction(self.scale)) * 10 ** rng.uniform(-3, 1.5):.6e}"
        return member.tail_probability(bound)

    # What the outsider says.

    def outsider(self) -> Any:
        """Who computes independently."""
        shape = tuple(sorted((key, value) for key, value in self.shape.items() if key != "upper"))
        return outsider(self.name, shape, mp.dps)

    def distance(self) -> Any:
        """How far neighbours are apart, as the outsider counts it."""
        if self.name != "k-norm":
            return (
                exactly(self.sensitivity)
                if self.name != "staircase" and not issubclass(self.family, IntegerNoise)
                else Fraction(self.sensitivity)
            )
        p = exactly(self.shape["p"])
        return mp.fsum(exactly(one) ** p for one in self.sensitivity) ** (1 / p)

    def at(self, scale: Any) -> Any:
        """A scale as the outsider wants it."""
        keep = (
            self.name == "staircase"
            or issubclass(self.family, (IntegerNoise, BoundedOutput, Selection))
            or "response" in self.name
        )
        return Fraction(scale) if keep else exactly(scale)

    def precision(self) -> int:
        """Working precision of the outsider: twice the digits, and as many as delta or the extremes eat up."""
        digits = 85 if self.name in ("student-t",) or self.shape.get("density") == "~1/(1+x**4)" else 70
        inverse = self.question in ("epsilon", "bound", "calibrate", "second opinion") and 0 < float(self.delta) < 1e-20
        if inverse and self.name not in UNBOUNDED:
            digits += int(-1.05 * math.log10(float(self.delta))) + 10
        if issubclass(self.family, Selection):
            digits += 250
        return digits


def _budget(rng: random.Random) -> tuple[str, str, Any]:
    edge = rng.random() < 0.15
    epsilon = rng.choice(EDGE_EPSILONS) if edge else log_uniform(rng, 1e-12, 500)
    draw = rng.random()
    if draw < 0.25:
        delta = rng.choice(EDGE_DELTAS)
    else:
        delta = log_uniform(rng, 1e-300, 1e-3) if draw < 0.75 else f"{rng.uniform(1e-3, 0.999):.6f}"
    return epsilon, delta, rng.choice(EDGE_SENSITIVITIES) if edge else log_uniform(rng, 1e-9, 1e9)


def _shape(rng: random.Random, name: str) -> dict[str, Any]:
    def p() -> str:
        return rng.choice(["1", "2", "3", "4", "40", f"{rng.uniform(1, 2):.4f}", f"{float(log_uniform(rng, 1, 40)):.4f}"])

    if name in ("generalized-gaussian", "subbotin", "k-norm", "truncated-generalized-gaussian", "exponential-on-box"):
        return {"p": p()}
    if name.startswith("boundary"):
        return {"p": p()}
    if name == "student-t":
        return {"nu": rng.choice(["1", "2", "3", "5", f"{float(log_uniform(rng, 0.5, 100)):.4f}"])}
    if name == "staircase":
        return {"step": log_uniform(rng, 1e-2, 20), "gamma": f"{rng.uniform(0.01, 1):.4f}"}
    if name == "truncated-laplace":
        return {"cutoff": log_uniform(rng, 0.1, 700)}
    if name == "custom-noise":
        return {"density": rng.choice(sorted(CUSTOM))}
    if name == "kary-randomized-response":
        return {"k": rng.choice(["2", "3", "100", str(rng.randrange(2, 10**6))])}
    if name == "report-noisy-max":
        noise = rng.choice(["laplace", "exponential", "gumbel"])
        return {"noise": noise, "candidates": rng.choice([2, 2, 3, 10])}
    return {}
