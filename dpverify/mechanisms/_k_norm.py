"""Answers and samplers of the K-norm mechanism: pure DP at Delta_p/scale; in one dimension it is Laplace noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.enclosure import Enclosure
from dpverify.enclose.decide import is_above
from dpverify.enclose.refine import enclose
from dpverify.errors import NotCovered
from dpverify.mechanisms import _certified

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpverify.mechanisms._domain import Reach
    from dpverify.mechanisms.k_norm import KNorm
    from dpverify.samplers.sampler import Sampler


def not_covered(what: str) -> NotCovered:
    """The named refusal of everything but pure DP in several dimensions."""
    return NotCovered(
        f"{what}: in several dimensions KNorm is certified for pure DP only; ask for delta = 0, or use Gaussian noise for"
        " delta > 0."
    )


def delta(mechanism: KNorm, eps: fmpq, digits: int) -> Enclosure:
    """0 from the pure-DP level on; between it and its negative only in one dimension."""
    if mechanism.exact_parameters["dimension"] == 1 and mechanism.exact_norm(mechanism.reach) is not None:
        return _certified.delta(mechanism.as_laplace(), eps, digits)
    scale, times = mechanism.exact_parameters["scale"], mechanism.times
    exact = mechanism.exact_norm(mechanism.reach)

    def covers(level: fmpq) -> bool:
        if level <= 0:
            return False
        if exact is not None:
            return bool(level * scale >= times * exact)
        return not is_above(
            lambda: times * mechanism.norm_on(BALLS, mechanism.reach),
            level * scale,
            what=lambda: f"the loss of {mechanism!r}",
        )

    if covers(eps):
        return Enclosure(fmpq(0), digits=digits)
    if times == 1 and covers(-eps):
        return enclose(
            lambda bits: -BALLS.expm1(arb(eps)), digits, what=lambda: f"delta at epsilon = {brief(eps)}", within=(0, 1)
        )
    raise not_covered(f"delta at epsilon = {brief(eps)}, which is below the pure-DP level")


def epsilon(mechanism: KNorm, exact_delta: fmpq, digits: int) -> Enclosure:
    """Delta_p/scale."""
    if exact_delta > 0:
        return _certified.epsilon(mechanism.as_laplace(), exact_delta, digits)
    return _ratio(mechanism, mechanism.reach, mechanism.exact_parameters["scale"], digits, "epsilon")


def scale(mechanism: KNorm, eps: fmpq, exact_delta: fmpq, sensitivity: Reach, digits: int) -> Enclosure:
    """Delta_p/epsilon."""
    norm = mechanism.exact_norm(sensitivity)
    if exact_delta > 0:
        laplace = mechanism.as_laplace()  # the formulas only: the sensitivity is handed on
        if norm is None:
            raise NotCovered("sensitivity: in one dimension a rational number is needed; give a decimal above it.")
        return _certified.scale(laplace, eps, exact_delta, mechanism.times * norm, digits)
    return _ratio(mechanism, sensitivity, eps, digits, "scale")


def _ratio(mechanism: KNorm, sensitivity: Reach, below: fmpq, digits: int, what: str) -> Enclosure:
    """times Delta_p / below."""
    exact = mechanism.exact_norm(sensitivity)
    if exact is not None:
        return Enclosure(mechanism.times * exact / below, digits=digits)
    return enclose(
        lambda bits: mechanism.times * mechanism.norm_on(BALLS, sensitivity) / arb(below),
        digits,
        what=lambda: f"{what} of {mechanism!r}",
    )


def sampler(mechanism: KNorm) -> Sampler:
    """True answer + R g/|g|_p: R ~ gamma(dimension, scale), g independent with density ~ exp(-|x|^p)."""
    import numpy as np

    from dpverify.errors import InputError
    from dpverify.mechanisms._bounded_samplers import power_law
    from dpverify.mechanisms._parameters import numbers
    from dpverify.samplers.sampler import IDEAL_MODEL_DOUBLE, Sampler

    p, scale = float(arb(mechanism.exact_parameters["p"])), float(arb(mechanism.exact_parameters["scale"]))
    count = int(mechanism.exact_parameters["dimension"].p)

    def release(data: Any, rng: np.random.Generator, size: int) -> NDArray[Any]:
        true = np.array([float(arb(x)) for x in numbers(data, "true answer")])
        if true.size != count:
            raise InputError(f"true answer = {data!r}: dimension = {count}; give one number a coordinate.")
        directions = power_law(1 / p, rng, (size, count))
        lengths = np.linalg.norm(directions, ord=p, axis=1)
        found = true + directions * (rng.gamma(count, scale, size) / lengths)[:, None]
        return np.asarray(found[:, 0] if count == 1 else found)

    return Sampler(exactness=IDEAL_MODEL_DOUBLE, law=f"data + R g/|g|_p for {mechanism!r}", release=release)


def neighbours(mechanism: KNorm) -> tuple[Any, Any]:
    """The origin, and a point whose p-norm is the largest that the sensitivity allows."""
    count = int(mechanism.exact_parameters["dimension"].p)
    reach = mechanism.reach
    if reach.radius_squared is not None:
        radius = float(arb(reach.radius_squared).sqrt())
        spread = mechanism.exact_parameters["p"] < 2
        far = [radius / count**0.5] * count if spread else [radius, *[0.0] * (count - 1)]
    elif mechanism.exact_parameters["adjacency"] == "norm":
        assert reach.shifts is not None
        far = [float(arb(reach.shifts[0])), *[0.0] * (count - 1)]
    else:
        far = [float(arb(shift)) for shift in reach.for_each(count) or ()]
    return (0, far[0]) if count == 1 else ((0,) * count, tuple(far))
