"""The pytest plugin: claims become tests, and a section of the terminal's summary has one line for each.

pytest loads this file in every run of every project that has dpverify installed, so it imports nothing that such a run does
not need anyway. What is needed to check a claim is imported when the first claim is checked.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpverify.errors import DpverifyError, InputError
from dpverify.gate import spending

if TYPE_CHECKING:
    from dpverify.gate.claims import SampledClaim
    from dpverify.gate.outcome import Outcome

_OPTIONS = {
    "budget": (None, "TIME", "time for all claims of a run, such as 90s or 5m (default: whatever their samples take)"),
    "alpha": (spending.ALPHA, "A", f"probability that a run refutes any true claim (default: {spending.ALPHA})"),
    "seed": ("0", "K", "seed of the run, or random for a fresh one; it is shown with the results (default: 0)"),
    "evidence": (".dpverify/evidence", "DIR", "where the evidence of what fails is written (default: .dpverify/evidence)"),
}


_PROPERTIES = (
    *("summary", "name", "verdict", "epsilon", "delta", "epsilon_lower"),
    *("samples", "alpha", "seed", "rule", "evidence_file"),
)
"""What the properties of a test hold of each outcome."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the command line, and the same as ini options."""
    group = parser.getgroup("dpverify", "differential-privacy claims")
    for name, (_, shown, meaning) in _OPTIONS.items():
        group.addoption(f"--dpverify-{name}", metavar=shown, default=None, help=meaning)
        parser.addini(f"dpverify_{name}", f"as --dpverify-{name}")


def pytest_configure(config: pytest.Config) -> None:
    """Read the options; what is wrong with them ends the run before it begins."""
    given = {name: str(config.getoption(f"dpverify_{name}") or config.getini(f"dpverify_{name}") or "") for name in _OPTIONS}
    handed = getattr(config, "workerinput", {})
    try:
        seed = spending.seed_from(given["seed"] or "0", "--dpverify-seed")
        plugin = _Claims(
            seed=handed.get("dpverify_seed", seed),
            alpha=spending.alpha_of(given["alpha"], "--dpverify-alpha") if given["alpha"] else float(spending.ALPHA),
            budget=spending.seconds_of(given["budget"], "--dpverify-budget") if given["budget"] else None,
            evidence=config.rootpath / (given["evidence"] or _OPTIONS["evidence"][0] or ""),
            workers=int(handed.get("workercount", 1)),
        )
    except InputError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(plugin, "dpverify-claims")


class _Claims:
    """The claims of one run of pytest: what each may spend, and what became of it."""

    def __init__(self, *, seed: int, alpha: float, budget: float | None, evidence: Path, workers: int) -> None:
        self.seed = seed
        self.alpha = alpha
        self.budget = budget
        self.evidence = evidence
        self.unsaved: str | None = None
        self.workers = workers
        self.declared = 0
        self.expected = 0
        self.checked = 0
        self.spent = 0.0
        self.collected: set[tuple[str, int]] = set()
        self.shown: list[str] = []
        self.item: pytest.Item | None = None
        self.run = spending.Run(seed=seed, alpha=alpha / 2, seconds=self.seconds, keep=self.keep_asserted)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Every worker of pytest-xdist uses the seed of the run."""
        node.workerinput["dpverify_seed"] = self.seed

    # --- collecting -------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: Any) -> list[pytest.Item] | None:
        """One item for each claim that decorates a function, whatever its name, and however many names it has in a module."""
        room = sys.modules.get("dpverify.gate.claims")
        if room is None or isinstance(obj, type) or not (claims := room.claims_of(obj)):
            return None
        claims = tuple(claim for claim in claims if (collector.nodeid, id(claim)) not in self.collected)
        self.collected.update((collector.nodeid, id(claim)) for claim in claims)
        if isinstance(collector, pytest.Class):
            bound = getattr(collector.newinstance(), name)  # type: ignore[no-untyped-call]
            claims = tuple(replace(claim, mechanism=bound, target=None) for claim in claims)
        items: list[pytest.Item] = []
        for claim in claims:
            suffix = f"[{claim.words}]" if len(claims) > 1 else ""
            item = ClaimItem.from_parent(collector, name=f"{claim.name}{suffix}", claim=claim, claims=self)
            item.own_markers.extend(getattr(obj, "pytestmark", []))
            item.keywords.update({mark.name: mark for mark in item.own_markers})
            items.append(item)
        return items

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count what the budgets are split over, before anything is deselected."""
        self.run.alpha = spending.share(self.alpha / 2, len(items))
        self.declared = sum(isinstance(item, ClaimItem) for item in items)
        if self.budget is not None:
            self.expected = sum(isinstance(item, ClaimItem) or _asserts(item) for item in items)

    # --- running ----------------------------------------------------------------------------------------------------

    def pytest_sessionstart(self) -> None:
        """From here on, assertions spend a part of this run's budget."""
        spending.current.append(self.run)

    def pytest_sessionfinish(self) -> None:
        """And no longer."""
        if self.run in spending.current:
            spending.current.remove(self.run)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Each test has a part of its own. This happens for every test of every project, so it must cost nothing."""
        self.item = item
        self.run.assertions = 0

    def seconds(self) -> float | None:
        """How long the next check may take."""
        if self.budget is None:
            return None
        left = max(self.budget - self.spent, 0.0)
        return left / max(self.expected / self.workers - self.checked, 1.0)

    def keep_asserted(self, outcome: Outcome) -> Outcome:
        """An outcome of the test that is running."""
        if self.item is None:  # before the first test: while modules are imported, say
            return outcome
        outcome = replace(outcome, claim=replace(outcome.claim, name=f"{self.item.nodeid}: {outcome.claim.name}"))
        return self.keep(self.item, outcome)

    def keep(self, item: pytest.Item, outcome: Outcome) -> Outcome:
        """Write the evidence of what is not in order, note the rest where the reports find it."""
        from dpverify.errors import InputError
        from dpverify.gate.files import relative, saved
        from dpverify.report.gate import claim_as_data

        self.checked += 1
        self.spent += outcome.seconds
        if outcome.claim.place is not None:
            place = replace(outcome.claim.place, file=relative(Path(outcome.claim.place.file)))
            outcome = replace(outcome, claim=replace(outcome.claim, place=place))
        if outcome.exit_code != 0:
            try:
                outcome = saved(outcome, self.evidence)
            except InputError as error:  # what was found is worth more than the file
                self.unsaved = str(error)
        data = claim_as_data(outcome)
        for key in _PROPERTIES:
            if data[key] is not None:
                item.user_properties.append((f"dpverify.{key}", str(data[key])))
        if self.unsaved is not None:
            item.user_properties.append(("dpverify.unsaved", self.unsaved))
        return outcome

    # --- telling ----------------------------------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Gather the outcomes, which came with the properties of the test, from this process or from a worker."""
        if report.when == "teardown":
            self.shown += [value for name, value in report.user_properties if name == "dpverify.summary"]
            self.unsaved = next((value for name, value in report.user_properties if name == "dpverify.unsaved"), self.unsaved)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line a claim."""
        if not self.shown:
            return
        terminalreporter.section("privacy claims")
        for summary in self.shown:
            colour = "green" if summary.startswith("not refuted") else "yellow" if summary.startswith("undecided") else "red"
            terminalreporter.write_line(summary, **{colour: True})
        if self.unsaved is not None:
            terminalreporter.write_line(self.unsaved, red=True)
        terminalreporter.write_line(
            f"seed {self.seed}; a true claim is refuted with a probability of at most {self.alpha:.3g} in the whole run"
        )


def _asserts(item: pytest.Item) -> bool:
    """Whether a test names assert_private; a guess that only the sharing of time depends on."""
    code = getattr(getattr(item, "obj", None), "__code__", None)
    return "assert_private" in getattr(code, "co_names", ())


class ClaimItem(pytest.Item):
    """A claim as a test."""

    def __init__(self, *, claim: SampledClaim, claims: _Claims, **options: Any) -> None:
        super().__init__(**options)
        self.claim = claim
        self.claims = claims

    def runtest(self) -> None:
        """Audit the claim."""
        from dpverify.gate.decide import decide

        claims = self.claims
        alpha = spending.share(claims.alpha / 2, claims.declared)
        outcome = claims.keep(self, decide(self.claim, alpha=alpha, seed=claims.seed, seconds=claims.seconds()))
        if outcome.exit_code != 0:
            raise _NotInOrder(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The explanation alone; a traceback would show the insides of dpverify."""
        if isinstance(excinfo.value, _NotInOrder | DpverifyError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the claim stands."""
        place = self.claim.place
        return (self.path, None, self.name) if place is None else (Path(place.file), place.line - 1, self.name)


class _NotInOrder(Exception):
    """A claim that is refuted, undecided or could not be checked."""

    def __init__(self, outcome: Outcome) -> None:
        from dpverify.report.gate import explanation

        super().__init__(explanation(outcome))
