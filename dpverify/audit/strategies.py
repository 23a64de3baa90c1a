"""Neighbouring datasets as Hypothesis strategies, and a climb to the worst pair that ends at the smallest one as bad.

Hypothesis is imported when it is needed. `target()` pulls the search towards pairs with larger forecasts; then the pair is
shrunk as a failing example would be, as long as its forecast stays close to the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpverify.adjacency import Relation
from dpverify.audit.calls import Request
from dpverify.audit.crew import Job
from dpverify.audit.neighbours import BoundedDifference, Neighbourhood, check_neighbours, known_relation
from dpverify.audit.pairs import Chosen, Judge
from dpverify.audit.request import shortened
from dpverify.audit.stock import Stock
from dpverify.audit.table import Table
from dpverify.errors import InputError, MissingDependency, shown

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

EXAMPLES = 60
"""Pairs that the climb tries, about."""

FEWEST_TO_PART = 400
"""Outputs of a pair below which the same ones propose events and speak for them."""

AS_BAD = 0.7
"""The part of the best forecast that the smallest witness must keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairStrategy:
    """A strategy whose examples are pairs of datasets; each is checked against the relation before it is tried."""

    strategy: SearchStrategy[tuple[Any, Any]]
    relation: Neighbourhood | None
    examples: int = EXAMPLES

    def __post_init__(self) -> None:
        if self.relation is not None:
            known_relation(self.relation)


def datasets_with_one_more(records: SearchStrategy[Any], *, min_size: int = 0, max_size: int = 8) -> PairStrategy:
    """Lists of records, and the same list with one record more."""
    st = _strategies()

    def drawn(draw: Any) -> tuple[list[Any], list[Any]]:
        longer = draw(st.lists(records, min_size=min_size + 1, max_size=max_size))
        place = draw(st.integers(0, len(longer) - 1))
        return longer[:place] + longer[place + 1 :], longer

    return PairStrategy(strategy=st.composite(drawn)(), relation=Relation.ADD_OR_REMOVE)


def datasets_with_one_replaced(records: SearchStrategy[Any], *, min_size: int = 1, max_size: int = 8) -> PairStrategy:
    """Lists of records, and the same list with another record in one place."""
    st = _strategies()

    def drawn(draw: Any) -> tuple[list[Any], list[Any]]:
        base = draw(st.lists(records, min_size=max(min_size, 1), max_size=max_size))
        place = draw(st.integers(0, len(base) - 1))
        return base, [*base[:place], draw(records), *base[place + 1 :]]

    return PairStrategy(strategy=st.composite(drawn)(), relation=Relation.REPLACE)


def vectors_apart(length: int, *, within: BoundedDifference | None = None, reach: int = 4) -> PairStrategy:
    """Vectors of multiples of half the bound, up to `reach` bounds from 0, and a neighbour at any distance allowed."""
    st = _strategies()
    relation = BoundedDifference() if within is None else within
    step = relation.largest / 2
    low, high = (min(max(end, -reach * relation.largest), reach * relation.largest) for end in (relation.low, relation.high))
    numbers = st.integers(0, max(int((high - low) / step), 1)).map(lambda steps: min(low + steps * step, high))
    changes = st.sampled_from((0.0, relation.largest, -relation.largest))

    def drawn(draw: Any) -> tuple[list[float], list[float]]:
        first = [draw(numbers) for _ in range(length)]
        moves = [draw(changes) for _ in range(length)]
        if relation.most_changed is not None:
            places = [place for place, move in enumerate(moves) if move][relation.most_changed :]
            moves = [0.0 if place in places else move for place, move in enumerate(moves)]
        moved = sum(move != 0 for move in moves) or 1
        shrink = 1.0 if relation.norm is None else moved ** (-1 / relation.norm)
        second = [min(max(one + shrink * move, relation.low), relation.high) for one, move in zip(first, moves, strict=True)]
        return first, second

    return PairStrategy(strategy=st.composite(drawn)(), relation=relation)


def climb(pairs: PairStrategy, scored: Callable[[tuple[Any, Any]], float], *, seed: int) -> tuple[tuple[Any, Any], float, int]:
    """The smallest pair that is about as bad as the worst one found, its forecast, and how many pairs were tried."""
    _strategies()
    import hypothesis

    scores: dict[str, float] = {}
    worst: list[tuple[float, Any]] = []
    last: list[Any] = []

    def score_of(pair: Any) -> float:
        try:
            first, second = pair
        except (TypeError, ValueError):
            raise InputError(f"inputs: the strategy gives {shown(pair)}, and pairs of datasets are needed.") from None
        if pairs.relation is not None:
            try:
                check_neighbours(first, second, pairs.relation)
            except InputError:
                hypothesis.reject()
        key = repr(pair)
        if key not in scores:
            scores[key] = scored((first, second))
            if not worst or scores[key] > worst[-1][0]:
                worst.append((scores[key], (first, second)))
        return scores[key]

    def run(test: Callable[[Any], None], phases: Any) -> None:
        settings = hypothesis.settings(
            max_examples=pairs.examples,
            database=None,
            deadline=None,
            phases=phases,
            suppress_health_check=list(hypothesis.HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=hypothesis.Verbosity.quiet,
        )
        try:
            hypothesis.seed(seed)(settings(hypothesis.given(pairs.strategy)(test)))()
        except hypothesis.errors.InvalidArgument as error:
            raise InputError(f"inputs: Hypothesis cannot use this strategy: {shown(error, str)}") from None

    def upwards(pair: Any) -> None:
        hypothesis.target(score_of(pair))

    with suppress(hypothesis.errors.Unsatisfiable):
        run(upwards, (hypothesis.Phase.generate, hypothesis.Phase.target))
    if not worst:
        raise InputError("inputs: the strategy gave no pair of neighbouring datasets.")
    best, pair = worst[-1]

    class _AsBad(Exception):
        pass

    def downwards(candidate: Any) -> None:
        found = score_of(candidate)
        hypothesis.target(found)
        if found >= AS_BAD * best and found > 0:
            last[:] = [candidate, found]
            raise _AsBad

    try:
        run(downwards, (hypothesis.Phase.generate, hypothesis.Phase.target, hypothesis.Phase.shrink))
    except _AsBad:
        return (last[0][0], last[0][1]), last[1], len(scores)
    return pair, best, len(scores)


def chosen(pairs: PairStrategy, job: Job, judge: Judge, budget: int) -> tuple[tuple[Any, Any], Chosen]:
    """The pair that a climb with `budget` outputs a side, about, leads to. `job` says how the mechanism is called."""
    size = max(min(budget // (2 * pairs.examples), 20_000), 20)
    datasets: list[Any] = []

    def drawn(requests: Iterable[Request]) -> Iterator[tuple[Request, Table]]:
        for request in requests:
            data = datasets[request.side]
            caller = replace(job, inputs=(data,), names=(shortened(data),)).caller()
            try:
                yield request, caller.outputs(replace(request, side=0)).kept()
            finally:
                caller.close()

    stock = Stock(drawn)

    def scored(pair: tuple[Any, Any]) -> float:
        if stock.drawn // 2 + size > budget:
            return -1.0  # shrinking may ask for any number of pairs
        numbers = len(datasets), len(datasets) + 1
        datasets.extend(pair)
        tables = []
        for part in (size // 2, size - size // 2) if size >= FEWEST_TO_PART else (size,):
            for _ in stock.fresh(dict.fromkeys(numbers, part)):
                pass
            tables.append((stock.kept(numbers[0]), stock.kept(numbers[1])))
            stock.forget(numbers)
        # so few outputs of so many pairs: those that propose an event do not speak for it, or the luckiest pair would win
        proposal = judge.proposed(tables[0])
        if len(tables) == 1:
            return proposal.promise
        hits = list(zip(*map(proposal.hits, tables[1]), strict=True))
        return judge.promise(proposal.picked, hits, (tables[1][0].size, tables[1][1].size))

    pair, _, _ = climb(pairs, scored, seed=job.seed)
    return pair, Chosen(pair=(0, 1), tried=len(datasets) // 2, spent=-(-stock.drawn // 2))


def _strategies() -> Any:
    try:
        from hypothesis import strategies
    except ImportError:
        raise MissingDependency(
            "strategies of neighbouring datasets need Hypothesis, which is not installed here: pip install 'dpverify[pairs]'. "
            "Lists of pairs (add_or_remove, replace_one, bounded_difference) need nothing."
        ) from None
    return strategies
