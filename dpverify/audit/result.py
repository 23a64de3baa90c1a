"""What an audit says: the verdict, the witness that carries it, and the evidence behind both. Values only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpverify.arithmetic.rounded import down
from dpverify.guarantees import Verdict
from dpverify.showing import notebook, plotted


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """An event that one input shows more often than the claim allows, with the counts that say so.

    `likelier` is 0 or 1: the input on which it occurred `hits` times in `draws` outputs; on the other one it occurred
    `other_hits` times in `other_draws`. `epsilon_lower` is the bound that these counts alone give at level `alpha`.
    `event` is the set as data; `precise` says that it reads low-order bits of floats. `str(witness)` is the sentence.
    """

    description: str
    event: dict[str, Any]
    likelier: int
    hits: int
    draws: int
    other_hits: int
    other_draws: int
    alpha: float
    epsilon_lower: float
    precise: bool
    remark: str = ""

    def __str__(self) -> str:
        sentence = (
            f"{self.description}: {self.hits:,} of {self.draws:,} outputs on inputs[{self.likelier}], "
            f"{self.other_hits:,} of {self.other_draws:,} on inputs[{1 - self.likelier}]; "
            f"epsilon is at least {down(self.epsilon_lower)} at level {self.alpha:.3g}."
        )
        return f"{sentence} {self.remark}".rstrip()

    def to_json(self) -> dict[str, Any]:
        """The witness as data, the sentence included."""
        return {
            "description": self.description,
            "event": self.event,
            "likelier": self.likelier,
            "hits": self.hits,
            "draws": self.draws,
            "other_hits": self.other_hits,
            "other_draws": self.other_draws,
            "alpha": self.alpha,
            "epsilon_lower": self.epsilon_lower,
            "precise": self.precise,
            "sentence": str(self),
        }


_LIKELY = "Likely cause: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What probably lies behind a refutation: `kind` is "reuse", "precision", "constant", "support", "presence" or
    "scale". *Heuristic*."""

    kind: str
    text: str

    def __str__(self) -> str:
        return _LIKELY + self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What can be said of a claim (epsilon, delta) after sampling. Every number is statistical at level 1 - confidence.

    verdict             "refuted", "not refuted" or "undecided"
    epsilon, delta      the claim: the least doubles that are no smaller than what was claimed; of a curve, the point that the
                        best test was made at
    epsilon_lower       the least epsilon (nats) that the simultaneous confidence region of all tested events allows
    confidence          1 - alpha
    witness             the event that refutes, with its counts; None where nothing refutes
    detectable_epsilon  the least epsilon' at which a mechanism with P(S) = min(1, e^epsilon' q + delta) would have been
                        refuted with probability .9, q the upper confidence bound of a tested event S; inf where there
                        is none. It speaks of the events that were tested; others may exist
    samples             outputs drawn, on the side that drew more
    seconds             time taken; not part of the evidence
    verdict_on_reals    the verdict of the events that do not read low-order bits of floats
    notes               what a reader should know besides, one sentence each, the likely cause among them
    cause               the likely cause of a refutation; None where nothing refutes, and of evidence that is rechecked
    bounds              lower bounds on other numbers: "delta" at `epsilon`, from the event of epsilon_lower, which holds at
                        this level by itself; and on the parameter of a claimed notion, such as "mu" or "rho"
    evidence            events, counts, seeds and versions as JSON-able data; `dpverify.recheck` recomputes the verdict from it
    """

    verdict: Verdict
    epsilon: float
    delta: float
    epsilon_lower: float
    confidence: float
    witness: Witness | None
    detectable_epsilon: float
    samples: int
    seconds: float
    verdict_on_reals: Verdict
    notes: tuple[str, ...]
    evidence: dict[str, Any]
    bounds: dict[str, float] = field(default_factory=dict)
    cause: Cause | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes without the likely cause, for those who show it in a place of its own."""
        return tuple(note for note in self.notes if not note.startswith(_LIKELY))

    def _repr_html_(self) -> str:
        return notebook(self, "audit")

    def plot(
        self,
        kind: str = "trade-off",
        *,
        axes: Any = None,
        mechanism: Any = None,
        inputs: tuple[Any, Any] | None = None,
        seed: int | None = None,
    ) -> Any:
        """Draw what was measured; needs matplotlib (the extra `report`).

        kind       "trade-off": the tested events against the limit of the claim; "power": which epsilon would have been found;
                   "laws": the laws of the outputs on both inputs, with the witness (or the event with the largest bound);
                   "capital": what one who bets on that event against the claim is worth, over the outputs
        axes       matplotlib axes to draw on; None: new ones
        mechanism, inputs
                   as they were audited: a result holds counts and no outputs, so "laws" and "capital" draw outputs of their
                   own, with other seeds than the audit's; "trade-off" adds the curve that they measure
        seed       of these outputs; None: the audit's

        Returns the axes. No verdict rests on a picture. Raises MissingDependency without matplotlib, and InputError.
        """
        options = {"axes": axes, "mechanism": mechanism, "inputs": inputs, "seed": seed}
        return plotted(self, "of_audit", kind, options)
