"""How scores are learned from exploration outputs: tables added up coordinate by coordinate, or boosted trees on pairs.

A tree that looks at two scalars is a table over their cells, and a sum of such trees is a sum of tables; so a score that
scikit-learn boosted is saved and evaluated without it. Heuristic throughout: a poor score costs power and never soundness.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.events.thresholds import cut_points, plain_cut
from dpverify.audit.features import Scalar
from dpverify.audit.ordered import Ordered
from dpverify.audit.scores import MILLI, Axis, Score, Term
from dpverify.audit.table import Floats, Table

FEWEST_ROWS = 500
"""Outputs a side below which nothing is learned."""

MOST_ROWS = 150_000
"""Outputs a side that trees are grown on, and that cuts of an axis are read off, at most."""

TREES = 50
LEAVES = 8
DOUBTFUL = 2.0
"""A log ratio within about this many variances of 0 is taken to be 0."""

Pair = tuple[Table, Table]


def axes_of(tables: Pair, scalars: Sequence[Scalar], cuts: int) -> list[Axis]:
    """Each scalar cut into at most about `cuts` + 2 cells; scalars without two values are left out."""
    axes = []
    few = [table.taken(slice(0, MOST_ROWS)) if table.size > MOST_ROWS else table for table in tables]
    for scalar in scalars:
        ordered = Ordered.of(*(scalar.values(table) for table in few))
        pooled = ordered.pooled
        if not len(pooled) or (len(pooled) == 1 and ordered.counts[0] == sum(table.size for table in few)):
            continue
        places = _evenly(ordered, cuts)
        axes.append(Axis(scalar, tuple(float(cut) for cut in np.unique([plain_cut(cut, pooled) for cut in places]))))
    return axes


def _evenly(ordered: Ordered, count: int) -> Floats:
    """Cuts between all values where these are few; else at quantiles, with some in the tails."""
    if len(ordered.pooled) <= 3 * count:
        return cut_points(ordered, 3 * count)
    parts = np.linspace(0, 1, count + 1)[1:-1]
    tails = np.geomspace(1e-4, 0.5 / count, max(count // 4, 1))
    wanted = np.concatenate([tails, parts, 1 - tails])
    below = np.cumsum(ordered.counts)
    found = ordered.pooled[np.searchsorted(below, wanted * below[-1])]
    return np.unique(found[found < ordered.pooled[-1]])


def additive(tables: Pair, axes: Sequence[Axis]) -> Score | None:
    """The sum over axes of the log ratio of each cell, shrunk where it may be chance; None where fewer than two axes speak.

    For coordinates that are independent given the input it is the likelihood ratio itself.
    """
    terms: list[tuple[tuple[int, ...], Floats]] = []
    for place, axis in enumerate(axes):
        first, second = (np.bincount(axis.places(table), minlength=axis.cells) + 0.5 for table in tables)
        ratio = np.log(first / first.sum()) - np.log(second / second.sum())
        variance = 1 / first + 1 / second
        shrunk = ratio * np.maximum(0.0, 1 - DOUBTFUL * variance / np.maximum(ratio * ratio, 1e-300))
        terms.append(((place,), shrunk))
    return simplified(axes, terms)


def boosted(tables: Pair, axes: Sequence[Axis]) -> Score | None:
    """Gradient-boosted trees (Friedman 2001) in scikit-learn's histogram form, each on at most two axes, as tables.

    None where nothing was learned, or where the trees of this version of scikit-learn cannot be read.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    tables = tables[0].taken(slice(0, MOST_ROWS)), tables[1].taken(slice(0, MOST_ROWS))
    cells = [np.stack([axis.places(table) for axis in axes], axis=1).astype(np.float32) for table in tables]
    labels = np.repeat([1, 0], [table.size for table in tables])
    model = HistGradientBoostingClassifier(
        learning_rate=0.1,
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=max(20, len(labels) // 3000),
        l2_regularization=1.0,
        interaction_cst="pairwise",
        early_stopping=False,  # the gain of a tree is far below what a held-out part can tell
        random_state=0,
    )
    with threadpool_limits(limits=1):  # threads that wait for each other on a busy machine take far longer than one
        model.fit(np.concatenate(cells), labels)
    try:
        trees = [predictor.nodes for stage in model._predictors for predictor in stage]
        terms: dict[tuple[int, ...], Floats] = {}
        for nodes in trees:
            for box, value in _leaves(nodes, axes):
                used = tuple(sorted(box)) or (0,)
                table = terms.setdefault(used, np.zeros([axes[place].cells for place in used]))
                table[tuple(slice(*box[place]) if place in box else slice(None) for place in used)] += value
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return simplified(axes, [(used, table.ravel()) for used, table in terms.items()])


def _leaves(nodes: NDArray[Any], axes: Sequence[Axis]) -> Iterator[tuple[dict[int, tuple[int, int]], float]]:
    """Each leaf of a tree: the cells that lead to it, as ranges of the axes on its way, and its value.

    Pairwise constraints hold for the way to a leaf, and not for the tree: its leaves may look at several pairs.
    """
    ahead: list[tuple[int, dict[int, tuple[int, int]]]] = [(0, {})]
    while ahead:
        place, box = ahead.pop()
        node = nodes[place]
        if node["is_leaf"]:
            yield box, float(node["value"])
            continue
        axis = int(node["feature_idx"])
        low, high = box.get(axis, (0, axes[axis].cells))
        cut = min(max(int(np.floor(node["num_threshold"])) + 1, low), high)
        ahead += [(int(node["left"]), {**box, axis: (low, cut)}), (int(node["right"]), {**box, axis: (cut, high)})]


def simplified(axes: Sequence[Axis], terms: Sequence[tuple[tuple[int, ...], Floats]]) -> Score | None:
    """The score in whole thousandths without cuts that change nothing and axes that say nothing; None with fewer than two axes.

    What one axis alone says is a matter of intervals, which have a family of their own.
    """
    tables = {places: np.rint(table * MILLI).astype(np.int64) for places, table in terms}
    kept: dict[int, NDArray[np.intp]] = {}
    for place, axis in enumerate(axes):
        rows = [_along(tables[places], places, place, axes) for places in tables if place in places]
        if not rows:
            continue
        stacked = np.concatenate(rows, axis=1)
        numbered = stacked[: len(axis.cuts) + 1]
        changes = np.flatnonzero((numbered[1:] != numbered[:-1]).any(axis=1))
        if len(changes) or (stacked[-1] != numbered[-1]).any():
            kept[place] = changes
    if len(kept) < 2:
        return None
    order = {place: number for number, place in enumerate(kept)}
    final: dict[tuple[int, ...], NDArray[np.int64]] = {}
    for places, table in tables.items():
        shaped = table.reshape([axes[place].cells for place in places])
        for dimension, place in enumerate(places):
            cells = np.append(kept[place], [len(axes[place].cuts), axes[place].cells - 1]) if place in kept else np.array([0])
            shaped = np.take(shaped, cells, axis=dimension)
        left = tuple(order[place] for place in places if place in kept)
        if left:
            flat = shaped.reshape(-1)
            final[left] = final[left] + flat if left in final else flat
    new_axes = tuple(
        Axis(axes[place].scalar, tuple(axes[place].cuts[cut] for cut in changes)) for place, changes in kept.items()
    )
    return Score(new_axes, tuple(Term(left, tuple(map(int, table))) for left, table in final.items() if table.any()))


def _along(table: NDArray[np.int64], places: tuple[int, ...], place: int, axes: Sequence[Axis]) -> NDArray[np.int64]:
    """The table with the cells of one axis as rows."""
    shaped = table.reshape([axes[other].cells for other in places])
    return np.moveaxis(shaped, places.index(place), 0).reshape(axes[place].cells, -1)
