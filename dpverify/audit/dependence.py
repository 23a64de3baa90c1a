"""Whether the outputs of one block owe something to each other.

Counts are binomial only if outputs are independent. Blocks are independently seeded, so outputs that share noise inside a
block show in three ways: a count that varies from block to block more (or less) than a binomial would, hits that follow
each other more (or less) often than in a random order, and values that repeat inside blocks more (or less) often than
across them. Suspicion is not a verdict about the mechanism: it only decides
that the verdict has to rest on one output per independently seeded call.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.statistics import binomial
from dpverify.audit.table import Codes

if TYPE_CHECKING:
    from dpverify.audit.blocks import Life

LEVEL = 1e-4
"""How improbable a pattern must be under independence to raise suspicion while nothing is at stake."""

LEVEL_AT_STAKE = 1e-3
"""The same when a refutation is about to rest on the counts: doubt is cheap, a false alarm is not."""

LONGEST_TAIL = 8.0
FEWEST_RANKED = 64
MOST_RANKED = 512
MOST_BLOCKS = 32
FEW_SHUFFLES, SHUFFLES = 10, 40
MOST_COUNTED = 100_000


def dispersion(hits: Sequence[int], sizes: Sequence[int]) -> float:
    """A two-sided p-value for equal success probabilities in all blocks, given how many successes there were.

    Pearson's statistic with the mean and the variance that it has under random allocation, and the cube-root (Wilson and
    Hilferty) approximation. Neighbouring blocks are merged until five successes and five failures are expected in each;
    1.0 where that leaves fewer than four. Heuristic: accurate to a factor of about two at the levels used here.
    """
    counts, totals = np.asarray(hits, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    rare = min(counts.sum(), totals.sum() - counts.sum())
    groups = int(min(len(counts), rare // 5))
    if groups < 4:
        return _all_or_nothing(counts, totals)
    owner = np.arange(len(counts)) * groups // len(counts)
    counts, totals = (np.bincount(owner, weights=weights).astype(np.float64) for weights in (counts, totals))
    share = counts.sum() / totals.sum()
    statistic = float(((counts - totals * share) ** 2 / (totals * share * (1 - share))).sum()) * (1 - 1 / totals.sum())
    freedom = groups - 1.0
    spread = 2 / (9 * freedom)
    z = ((statistic / freedom) ** (1 / 3) - (1 - spread)) / spread**0.5
    return 2 * NormalDist().cdf(-abs(z))


def _all_or_nothing(counts: NDArray[Any], totals: NDArray[Any]) -> float:
    """Too few of either for Pearson: the probability that rare outputs crowd into as few blocks as they did."""
    rare = counts if counts.sum() <= totals.sum() - counts.sum() else totals - counts
    number, occupied = int(rare.sum()), int((rare > 0).sum())
    if number < 2 or occupied == len(rare):
        return 1.0
    blocks = len(rare)
    log_ways = sum(np.log((blocks - place) / (place + 1)) for place in range(occupied))
    return float(min(1.0, np.exp(log_ways + number * np.log(occupied / blocks))))


def counted(mask: NDArray[np.bool_]) -> tuple[int, float, float]:
    """How many hits a block has; how many follow a hit, beyond what a random order of its outputs has; and its variance.

    Of k hits among n outputs in random order, k (k - 1) / n pairs are neighbours on average; the variance is that of a
    large block. Summed over blocks, excess / sqrt(variance) is a standard normal number where outputs are independent.
    """
    size, hits = len(mask), int(np.count_nonzero(mask))
    if hits in (0, size):
        return hits, 0.0, 0.0
    return _beside_chance(int(np.count_nonzero(mask[1:] & mask[:-1])), hits, size)


def counted_at(rows: NDArray[np.intp], size: int) -> tuple[int, float, float]:
    """The same for a block of which these rows, in order, are the hits."""
    hits = len(rows)
    if hits in (0, size):
        return hits, 0.0, 0.0
    return _beside_chance(int(np.count_nonzero(rows[1:] - rows[:-1] == 1)), hits, size)


def _beside_chance(followed: int, hits: int, size: int) -> tuple[int, float, float]:
    return hits, followed - hits * (hits - 1) / size, hits**2 * (size - hits) ** 2 / size**3


def serial(excess: float, variance: float) -> float:
    """A two-sided p-value for a random order inside blocks. Heuristic; 1.0 where too few hits could be neighbours."""
    return 1.0 if variance < 25 else 2 * NormalDist().cdf(-abs(excess) / variance**0.5)


def repeats(blocks: Sequence[Codes], generator: np.random.Generator) -> float:
    """How many standard deviations the number of equal pairs inside blocks lies from where shuffled outputs would have it.

    0.0 where the difference is fewer than four pairs. The mean is exact; heuristic: the deviation comes from a few shuffles.
    """
    pooled = np.concatenate(blocks)
    ordered = np.sort(pooled)
    if not (ordered[1:] == ordered[:-1]).any():
        return 0.0
    _, codes, counts = np.unique(pooled, return_inverse=True, return_counts=True)
    sizes = np.array([len(block) for block in blocks])
    owner = np.repeat(np.arange(len(blocks)), sizes)
    away = _pairs(codes, owner) - _pairs_of(counts) * _pairs_of(sizes) / max(_pairs_of(np.array([len(codes)])), 1.0)
    if abs(away) < 4:
        return 0.0
    shuffled: list[float] = []
    for shuffles in (FEW_SHUFFLES, SHUFFLES):  # a few tell what is far from suspicious
        shuffled += [_pairs(generator.permutation(codes), owner) for _ in range(shuffles - len(shuffled))]
        found = away / max(float(np.std(shuffled)), 0.5)
        if abs(found) < LONGEST_TAIL / 2:
            break
    return found


def _pairs(codes: NDArray[np.int64], owner: NDArray[np.int64]) -> float:
    """Equal pairs inside blocks."""
    cells = owner * (int(codes.max()) + 1) + codes
    few = int(cells.max()) < MOST_COUNTED
    return _pairs_of(np.bincount(cells) if few else np.unique(cells, return_counts=True)[1])


def _pairs_of(counts: NDArray[Any]) -> float:
    return float((counts * (counts - 1.0) / 2).sum())


def follows(blocks: Sequence[NDArray[Any]], others: Sequence[NDArray[Any]]) -> bool:
    """Whether some block and some other block rise and fall together, place by place: outputs made with the same noise.

    Spearman's rank correlation of the first outputs of any two blocks. Without shared noise r sqrt(n - 1) is close to a
    standard normal number; eight deviations, and half of what there is to share, are asked for. Few outputs show nothing.
    """
    size = min(min(map(len, blocks)), min(map(len, others)), MOST_RANKED)
    if size < FEWEST_RANKED:
        return False
    one, other = (_all_ranks(np.stack([block[:size] for block in side[:MOST_BLOCKS]])) for side in (blocks, others))
    shared = np.abs(one @ other.T)
    return bool(shared.max(initial=0.0) > max(LONGEST_TAIL / (size - 1) ** 0.5, 0.5))


def _all_ranks(rows: NDArray[Any]) -> NDArray[np.float64]:
    """`_ranks` of each row; of all at once where no row has equal values, or NaN."""
    size, order = rows.shape[1], np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    if not (ordered[:, 1:] > ordered[:, :-1]).all():
        return np.stack([_ranks(row) for row in rows])
    places = np.arange(size) - (size - 1) / 2
    found = np.empty(rows.shape)
    np.put_along_axis(found, order, np.broadcast_to(places / np.sqrt((places * places).sum()), rows.shape), axis=1)
    return found


def _ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks, those of equal values their mean, moved and scaled to mean 0 and length 1; all 0 where nothing varies."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[place]
    ranks = ranks - ranks.mean()
    length = float(np.sqrt((ranks * ranks).sum()))
    found: NDArray[np.float64] = ranks / length if length > 0 else ranks
    return found


def copies(lives: Sequence[Life]) -> bool:
    """Whether two processes began with the same outputs although the mechanism goes on differently for the same seed."""
    restless = [(life.first, life.again) for life in lives if life.first != life.again]
    return len(set(restless)) < len(restless)


def disagree(hits: int, draws: int, apart_hits: int, apart_draws: int, level: float) -> bool:
    """Whether one output a call shows an event at another rate than blocks do: two exact intervals that do not meet."""
    share = level / 4
    low, high = _interval(hits, draws, share)
    apart_low, apart_high = _interval(apart_hits, apart_draws, share)
    return low > apart_high or apart_low > high


def _interval(hits: int, draws: int, alpha: float) -> tuple[float, float]:
    return binomial.lower(hits, draws, alpha), binomial.upper(hits, draws, alpha)
