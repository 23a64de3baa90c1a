"""Samplers of bounded mechanisms: doubles by inversion or clamping, and exact draws on a grid that the domain fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray
from scipy import special

from dpverify.arithmetic.balls import BALLS
from dpverify.arithmetic.decimals import brief
from dpverify.arithmetic.exact import to_exact
from dpverify.errors import InputError
from dpverify.mechanisms._parameters import as_given
from dpverify.mechanisms._power_kernel import PowerKernel
from dpverify.samplers.grid import Cells
from dpverify.samplers.sampler import EXACT, IDEAL_MODEL_DOUBLE, Sampler

if TYPE_CHECKING:
    from dpverify.mechanisms._inflated import InflatedOutput
    from dpverify.mechanisms._truncated import TruncatedOutput

Draw = Callable[[float, float, float, np.random.Generator, int], NDArray[np.float64]]
"""(true answer, its distances from the lower and the upper end, rng, size) -> releases of one coordinate."""


def truncated(mechanism: TruncatedOutput, granularity: Any = None) -> Sampler:
    """|release - t| is found by inverting P(1/p, theta x^p) on the side that a uniform number falls on."""
    if granularity is not None:
        return _on_grid(mechanism, granularity)
    a, theta, longest = 1 / float(arb(mechanism.exact_p)), float(mechanism.theta()), float(arb(mechanism.domain.longest))

    def draw(true: float, below: float, above: float, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        left, right = (float(special.gammainc(a, theta * (side / longest) ** (1 / a))) for side in (below, above))
        uniforms = rng.uniform(-left, right, size)
        distances = longest * (special.gammaincinv(a, np.abs(uniforms)) / theta) ** a
        return np.asarray(np.clip(true + np.copysign(distances, uniforms), true - below, true + above))

    return _release(mechanism, draw, law=f"{mechanism!r}, by inversion of its cdf")


def inflated(mechanism: InflatedOutput, granularity: Any = None) -> Sampler:
    """The true answer plus noise, clamped. |noise| is a gamma number of shape 1/p to the power 1/p."""
    if granularity is not None:
        return _on_grid(mechanism, granularity)
    a, scale = 1 / float(arb(mechanism.exact_p)), float(arb(mechanism.exact_parameters[mechanism.scale_name]))

    def draw(true: float, below: float, above: float, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        noise = scale * power_law(a, rng, size)
        return np.asarray(np.clip(true + noise, true - below, true + above))

    return _release(mechanism, draw, law=f"{mechanism!r}: noise added, then clamped")


def power_law(a: float, rng: np.random.Generator, size: int | tuple[int, ...]) -> NDArray[np.float64]:
    """Numbers with density ~ exp(-|x|^{1/a})."""
    return np.asarray(rng.gamma(a, size=size) ** a * rng.choice([-1.0, 1.0], size=size))


def _release(mechanism: Any, draw: Draw, *, law: str) -> Sampler:
    domain = mechanism.domain
    lengths = [float(arb(length)) for length in domain.lengths]

    def release(data: Any, rng: np.random.Generator, size: int) -> NDArray[Any]:
        place = domain.point(data)
        columns = []
        for x, low, length in zip(place, domain.low, lengths, strict=True):
            below = float(arb(x - low))
            columns.append(draw(float(arb(x)), below, length - below, rng, size))
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    return Sampler(exactness=IDEAL_MODEL_DOUBLE, law=law, release=release)


def _on_grid(mechanism: TruncatedOutput | InflatedOutput, granularity: Any) -> Sampler:
    """Each coordinate rounded to the nearest of lower, lower + granularity, ..., upper: rounding is post-processing."""
    step = to_exact(granularity, "granularity")
    domain = mechanism.domain
    for length in domain.lengths:
        if step <= 0 or (length / step).q != 1:
            raise InputError(
                f"granularity = {granularity}: it must divide the length {brief(length)} of the domain, so that both bounds"
                f" lie on the grid; give {brief(length)} divided by a whole number."
            )

    def release(data: Any, rng: np.random.Generator, size: int) -> NDArray[Any]:
        columns = []
        for x, low, length in zip(domain.point(data), domain.low, domain.lengths, strict=True):
            cells = _cells(mechanism, x - low, length, step)
            columns.append(float(arb(low)) + cells.draw(rng, size) * float(arb(step)))
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    law = f"{mechanism!r}, rounded to the nearest multiple of {as_given(step)} above the lower bound"
    return Sampler(exactness=EXACT, law=law, release=release)


def _cells(mechanism: TruncatedOutput | InflatedOutput, below: fmpq, length: fmpq, step: fmpq) -> Cells:
    longest = mechanism.domain.longest

    def cdf(y: fmpq) -> arb | fmpq:
        """Of the release less the lower end of the domain."""
        if y < 0:
            return fmpq(0)
        if y >= length:
            return fmpq(1)
        kernel = PowerKernel(BALLS, mechanism.exact_p, mechanism.theta())
        found: arb = mechanism.cumulative(kernel, below / longest, (length - below) / longest, (y - below) / longest)
        return found

    return Cells(cdf, step, int((below / step).floor()))
