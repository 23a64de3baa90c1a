"""`assert_private`: an audit as an assertion, for use inside a test or anywhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpverify.gate import spending
from dpverify.gate.claims import SAMPLES, SampledClaim, place_of
from dpverify.gate.decide import decide
from dpverify.gate.foreign import completed
from dpverify.guarantees import Verdict
from dpverify.report.gate import explanation

if TYPE_CHECKING:
    from dpverify.audit.result import AuditResult
    from dpverify.gate.outcome import Outcome


class PrivacyViolation(AssertionError):
    """An asserted claim is refuted, or it could not be told. The message explains it; `.outcome` holds all there is."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(explanation(outcome))
        self.outcome = outcome


def assert_private(
    mechanism: Any,
    *,
    inputs: tuple[Any, Any] | None = None,
    epsilon: Any = None,
    delta: Any = None,
    distance: Any = 1,
    samples: int = SAMPLES,
    outputs: str = "bits",
    timeout: float | None = None,
    neighbours: str | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> AuditResult:
    """Audit a claim and raise PrivacyViolation (an AssertionError) unless it is "not refuted".

    The claim is P(S) <= e^epsilon Q(S) + delta for every set S of outputs, P and Q the laws of the outputs on the two inputs.

    mechanism   as for `audit`; or an object of a library that `dpverify.adapters` reads
    inputs      two neighbouring datasets; an accountant brings its own
    epsilon     in nats; what an object of a library claims of itself, where it is left out
    delta       in [0, 1); 0, or what the object claims. Curves need one: the point at which they are read
    distance    how far `inputs` are apart, in the object's own metric, where it asks for that
    neighbours  "replace" or "add or remove": the inputs, two sequences of records, are checked to be such neighbours
    name        what the message and the reports call the claim

    `samples`, `outputs`, `timeout` and `seed` are those of `audit`. Under pytest the probability of error is a part of the
    run's, the seed is the run's, and the outcome has a line in the terminal's section; elsewhere a true claim is refuted with
    a probability of at most 1e-6 a call, and the seed is 0.

    Returns the AuditResult. Raises InputError for a claim that cannot be checked and MechanismError as `audit` does.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not the insides of this function
    run = spending.current[-1] if spending.current else spending.Run(seed=0, alpha=2 * float(spending.ALPHA))
    given = completed(mechanism, inputs=inputs, epsilon=epsilon, delta=delta, distance=distance)
    called = name or str(getattr(given["mechanism"], "__name__", type(mechanism).__name__))
    claim = SampledClaim(
        name=called,
        **given,
        samples=samples,
        outputs=outputs,
        timeout=timeout,
        neighbours=neighbours,
        place=place_of(mechanism),
    )
    outcome = run.keep(decide(claim, alpha=run.next_alpha(), seed=run.seed if seed is None else seed, seconds=run.seconds()))
    if outcome.verdict is None:
        assert outcome.error is not None  # what stands in the place of a verdict
        raise outcome.error
    if outcome.verdict is not Verdict.NOT_REFUTED:
        raise PrivacyViolation(outcome)
    assert outcome.result is not None  # an audit has one
    return outcome.result
