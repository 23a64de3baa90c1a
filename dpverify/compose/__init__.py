"""Several releases taken together: the pair that dominates all of them at once.

The product of dominating pairs dominates the composition, adaptive or not, and for additive symmetric log-concave noise it is
attained: when every coordinate may move by its sensitivity, the worst shift is the corner where all of them do.
What a composed pair guarantees is asked of `notions`, as of any pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpverify.errors import InputError, NotCovered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpverify.mechanisms._mechanism import Mechanism


def composed(*releases: Mechanism | tuple[Mechanism, int]) -> Any:
    """The dominating pair of all releases together; (mechanism, k) stands for k releases of the same kind.

    Exact for Gaussian noise of any number and width, and for Laplace noise: closed forms, no discretisation. Certified for up
    to 64 releases of generalized Gaussian (Subbotin) noise with whole p, mixed with Gaussian and Laplace noise as you like: the
    law of the sum of the losses, by a contour integral (`power_law`). Raises NotCovered for other kinds.
    """
    from dpverify.compose import gaussian, laplace, power_law
    from dpverify.mechanisms.gaussian import Gaussian
    from dpverify.mechanisms.laplace import Laplace

    counted = [(power_law.as_laplace(mechanism), count) for mechanism, count in _counted(releases)]
    if all(isinstance(mechanism, Gaussian) for mechanism, _ in counted):
        return gaussian.product(counted)
    if all(isinstance(mechanism, Laplace) for mechanism, _ in counted):
        return laplace.product(counted)
    if all(power_law.is_power_law(mechanism) for mechanism, _ in counted):
        return power_law.product(counted)
    kinds = sorted({type(mechanism).__name__ for mechanism, _ in counted})
    raise NotCovered(
        f"{', '.join(kinds)}: certified composition covers Gaussian, Laplace, generalized Gaussian and Subbotin noise; for"
        " others compose a Renyi or zCDP guarantee, whose parameters add up."
    )


def _counted(releases: Sequence[Any]) -> list[tuple[Any, int]]:
    if not releases:
        raise InputError("nothing to compose: give at least one mechanism.")
    counted = []
    for release in releases:
        mechanism, count = release if isinstance(release, tuple) else (release, 1)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InputError(f"count = {count!r}: a whole number of releases is needed, at least 1.")
        counted.append((mechanism, count))
    return counted
