"""Coins and picks that compare random words with certified digits.

Distribution checks compare all counts with Bernstein's bound at once; each check fails a true law with probability at most
FALSE_ALARM, and the seeds are fixed.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.errors import PrecisionError
from dpverify.samplers import bits
from dpverify.samplers.bits import Digits, Uniform, coins, floors, pick

FALSE_ALARM = 1e-9


def slack(size: int, probability: float, counts: int) -> float:
    """How far one of `counts` counts may be from its mean, by Bernstein's inequality."""
    level = math.log(2 * counts / FALSE_ALARM)
    return level / 3 + math.sqrt(level * level / 9 + 2 * size * probability * (1 - probability) * level)


def fits(counts: np.ndarray, probabilities: list[float]) -> bool:
    size = int(counts.sum())
    pairs = zip(counts, probabilities, strict=True)
    return all(abs(count - size * p) <= slack(size, p, len(probabilities)) for count, p in pairs)


@given(value=st.fractions(0, 1, max_denominator=10**6), places=st.integers(1, 4), word=st.integers(1, 62))
def test_digits_of_a_rational_are_its_binary_expansion(value: Fraction, places: int, word: int) -> None:
    digits = Digits(lambda: [fmpq(value.numerator, value.denominator)], word_bits=word)
    prefix = 0
    for place in range(places):
        prefix = (prefix << word) + digits.word(0, place)
    assert prefix == math.floor(value * 2 ** (word * places))


def test_digits_of_irrationals_are_certified_floors() -> None:
    assert floors(lambda: [arb.pi() / 4, (-arb(1)).exp()], 200) == [_floor_by_integers("pi"), _floor_by_integers("e")]


def _floor_by_integers(kind: str) -> int:
    """floor(pi/4 2^200) by Machin's formula, floor(e^-1 2^200) by its series, in integers with guard bits."""
    guard = 60
    one = 1 << (200 + guard)
    if kind == "pi":

        def arctan_inverse(n: int) -> int:
            term, total, k = one // n, 0, 0
            while term:
                total += (-1) ** k * (term // (2 * k + 1))
                term //= n * n
                k += 1
            return total

        return (4 * arctan_inverse(5) - arctan_inverse(239)) >> guard
    term, total, k = one, 0, 0
    while term:
        total += (-1) ** k * term
        k += 1
        term //= k
    return total >> guard


def test_a_rational_that_is_given_as_a_ball_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "LARGEST_PRECISION", 2000)
    with pytest.raises(PrecisionError, match="must be given exactly"):
        floors(lambda: [arb(3).sqrt() ** 2 / 6], 62)


@pytest.mark.parametrize("word", [1, 2, 3, 7, 62])
def test_coins_have_their_probabilities_however_short_the_words(word: int) -> None:
    """Short words are equal all the time, so that the rare path of long ones is walked."""
    values = [fmpq(0), fmpq(1, 3), fmpq(1, 2), fmpq(7, 8), fmpq(1)]
    digits = Digits(lambda: [*values, (-arb(2)).exp()], word_bits=word)
    size = 20_000 if word < 62 else 200_000
    rng = np.random.default_rng(11)
    probabilities = [*(float(value.p) / float(value.q) for value in values), math.exp(-2)]
    for which, probability in enumerate(probabilities):
        heads = coins(digits, np.full(size, which), rng)
        assert fits(np.array([heads.sum(), size - heads.sum()]), [probability, 1 - probability])


@pytest.mark.parametrize("word", [2, 3, 62])
def test_picks_have_their_probabilities(word: int) -> None:
    cumulative = [fmpq(1, 5), fmpq(1, 5), fmpq(1, 2), fmpq(5, 6)]
    digits = Digits(lambda: list(cumulative), word_bits=word)
    found = pick(digits, np.random.default_rng(12), 30_000)
    assert fits(np.bincount(found, minlength=5), [0.2, 0.0, 0.3, 1 / 3, 1 / 6])


def test_a_bias_of_two_percent_does_not_fit() -> None:
    digits = Digits(lambda: [fmpq(1, 2)])
    heads = coins(digits, np.zeros(200_000, dtype=np.int64), np.random.default_rng(1)).sum()
    counts = np.array([heads, 200_000 - heads])
    assert fits(counts, [0.5, 0.5])
    assert not fits(counts, [0.51, 0.49])


@given(seed=st.integers(0, 2**32), value=st.fractions(0, 1, max_denominator=50))
@settings(max_examples=24)
def test_a_comparison_agrees_with_the_number_that_was_drawn(seed: int, value: Fraction) -> None:
    digits = Digits(lambda: [fmpq(value.numerator, value.denominator)], word_bits=2)
    first = int(np.random.default_rng(seed + 1).integers(0, 4))
    uniform = Uniform(first, np.random.default_rng(seed), 2)
    below = uniform.is_below(digits, 0)
    number = sum(Fraction(word, 4 ** (place + 1)) for place, word in enumerate(uniform._words))
    more = Fraction(1, 4 ** len(uniform._words))
    assert number + more <= value if below else number >= value
    assert uniform.is_below(digits, 0) is below
