"""Several coordinates, or releases, of noise with density ~ exp(-c |x|^p), p a whole number: the law of the sum of the losses.

The coordinates are independent, so the loss of all of them is a sum of independent ones, and its law is found from the product
of their transforms (`_transforms`, `_inversion`): for any number of coordinates, of any exponents, at the working precision.
When every coordinate may move by its own sensitivity the worst shift is the corner where all of them do, since the densities
are symmetric and log-concave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from flint import arb, fmpq

from dpverify.arithmetic.balls import BALLS
from dpverify.compose import _inversion, _transforms
from dpverify.errors import NotCovered
from dpverify.mechanisms._additive import AdditiveNoise
from dpverify.mechanisms._power_law import PowerLawNoise
from dpverify.mechanisms.gaussian import Gaussian
from dpverify.mechanisms.laplace import Laplace
from dpverify.mechanisms.subbotin import Subbotin
from dpverify.notions.gaussian_pair import GaussianPair

_LARGEST_COUNT = 64
"""Different transforms are cheap, their product is not free."""


def product(counted: Sequence[tuple[AdditiveNoise, int]]) -> PowerLawProduct:
    """Raises NotCovered for an exponent that is no whole number."""
    coordinates = tuple((_as_power_law(noise), count) for noise, count in counted)
    for noise, _ in coordinates:
        if noise.exact_p.q != 1:
            raise NotCovered(
                f"p = {noise.exact_p}: the law of a sum of losses is certified for whole numbers p; take the next one, or"
                " compose a Renyi or zCDP guarantee, whose parameters add up."
            )
    if sum(count for _, count in coordinates) > _LARGEST_COUNT:
        raise NotCovered(f"more than {_LARGEST_COUNT} coordinates: compose a Renyi or zCDP guarantee, whose parameters add up.")
    return PowerLawProduct(coordinates=coordinates)


def is_power_law(noise: Any) -> bool:
    """Whether `product` takes this noise."""
    return isinstance(noise, (PowerLawNoise, Gaussian, Laplace))


def as_laplace(noise: Any) -> Any:
    """Noise with p = 1 as the Laplace noise that it is; other noise as it is."""
    if isinstance(noise, PowerLawNoise) and noise.exact_p == 1:
        return Laplace(noise.exact_scale / noise.exact_weight, sensitivity=noise.exact_sensitivity)
    return noise


def _as_power_law(noise: Any) -> PowerLawNoise:
    if isinstance(noise, PowerLawNoise):
        return noise
    return Subbotin(noise.exact_scale, 1 if isinstance(noise, Laplace) else 2, sensitivity=noise.exact_sensitivity)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerLawProduct:
    """Independent noise in every coordinate; `coordinates` are (noise, how many coordinates have it).

    Answers of `hockey_stick` and `loss_tail` need |eps| > the sum of c d^p over the coordinates with odd p (0 where all are
    even), below which the law has corners; those about all neighbours need none of that.
    """

    is_symmetric: ClassVar[bool] = True

    coordinates: tuple[tuple[PowerLawNoise, int], ...]

    def hockey_stick(self, eps: fmpq) -> arb:
        gaussian = self._as_gaussian()
        if gaussian is not None:
            return gaussian.hockey_stick(eps)
        if eps < 0:
            return -BALLS.expm1(arb(eps)) + arb(eps).exp() * self.hockey_stick(-eps)
        return self._exceeding(eps, weighted=True)

    def loss_tail(self, eps: fmpq) -> arb:
        gaussian = self._as_gaussian()
        if gaussian is not None:
            return gaussian.loss_tail(eps)
        if eps >= 0:
            return self._exceeding(eps, weighted=False)
        # P(L < -e) = Q(L > e) = e^{-e} (P(L > e) - delta(e)), and there are no atoms.
        return 1 - arb(eps).exp() * (self.loss_tail(-eps) - self.hockey_stick(-eps))

    def disclosure_tail(self, eps: fmpq) -> arb | fmpq:
        """P(the loss against some neighbour exceeds eps): against that in the worst corner, which is the sum of
        c ((|y| + d)^p - |y|^p) [Liu 2019, Corollary 7]."""
        gap = eps - self._corners(lambda p: True)
        if gap <= 0:
            return fmpq(1)
        turn = self.turn()
        return _inversion.exceeding(self.transforms(_transforms.largest), arb(gap), turn, weighted=False)

    def loss_limit(self) -> arb:
        return arb.pos_inf()

    def power_moment(self, order: fmpq) -> arb:
        found = arb(1)
        for pair, count in self._pairs():
            found *= arb(pair.power_moment(order)) ** count
        return found

    def mean_loss(self) -> arb:
        return self._sum(lambda pair: pair.mean_loss())

    def loss_variance(self) -> arb:
        return self._sum(lambda pair: pair.loss_variance())

    def reversed(self) -> Self:
        return self

    def transforms(self, of: Callable[[int, arb, float], _transforms.Transform]) -> list[_transforms.Transform]:
        """One for each coordinate, at the working precision."""
        turn, found = self.turn(), []
        for noise, count in self.coordinates:
            p = int(noise.exact_p.p)
            one = of(p, arb(noise.exact_weight * noise.shift**p) ** arb(fmpq(1, p)), turn)
            found += [one] * count
        return found

    def _exceeding(self, eps: fmpq, *, weighted: bool) -> arb:
        corners = self._corners(lambda p: p % 2 == 1)
        if eps <= corners:
            raise NotCovered(
                f"epsilon = {eps}: the law of the sum of these losses is certified above {corners}, the sum of c d^p over the"
                " coordinates with odd p, where it has its last corner; ask above it."
            )
        return _inversion.exceeding(self.transforms(_transforms.signed), arb(eps - corners), self.turn(), weighted=weighted)

    def _corners(self, counts: Callable[[int], bool]) -> fmpq:
        """The sum of c d^p."""
        return sum(
            (
                count * noise.exact_weight * noise.shift ** int(noise.exact_p.p)
                for noise, count in self.coordinates
                if counts(int(noise.exact_p.p))
            ),
            fmpq(0),
        )

    def _as_gaussian(self) -> GaussianPair | None:
        """Where every p is 2 the loss against one neighbour is that of one coordinate."""
        if any(noise.exact_p != 2 for noise, _ in self.coordinates):
            return None
        squares = (2 * count * noise.exact_weight * noise.shift**2 for noise, count in self.coordinates)
        return GaussianPair(mu_squared=sum(squares, fmpq(0)))

    def turn(self) -> float:
        """By how much the outer contour leans off the vertical."""
        return _inversion.turned(max(int(noise.exact_p.p) for noise, _ in self.coordinates))

    def _sum(self, of_one: Callable[[Any], Any]) -> arb:
        return sum((arb(of_one(pair)) * count for pair, count in self._pairs()), arb(0))

    def _pairs(self) -> list[tuple[Any, int]]:
        return [(noise.dominating_pair(), count) for noise, count in self.coordinates]
