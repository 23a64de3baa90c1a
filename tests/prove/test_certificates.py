"""Certificates: the committed ones check; damaged, forged and stale ones do not."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from dpverify.prove.engine import RETRACTED, certify, check_all, judge, write
from dpverify.prove.kernel.certificate import Obligation, Outcome, Theorem, load, seal, verify
from dpverify.prove.kernel.statements import Relation, Statement
from dpverify.prove.kernel.steps import KINDS
from dpverify.prove.kernel.terms import Rejected, parse
from dpverify.prove.library import Entry, read

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = read(ROOT / "proofs")
TEXTS = {name: entry.certificate_path.read_text() for name, entry in ENTRIES.items()}
PROVED = {name: Outcome(verdict="proved") for name in ENTRIES}  # lemmas are no subject of these tests
CORRUPTIONS = 600


def accepts(entry: Entry, text: str) -> bool:
    try:
        verify(entry.theorem, load(text), PROVED)
    except Rejected:
        return False
    return True


def sealed(certificate: dict[str, Any]) -> str:
    return json.dumps({**certificate, "seal": seal(certificate)})


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a certificate, the whole left out."""
    found = [path] if path else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        found += places(child, (*path, key))
    return found


def damaged(certificate: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """One random change: a number, a leaf of a tree, a hash, a box, a kind, a missing or an additional part."""
    result = copy.deepcopy(certificate)
    while True:
        path = draw.choice(places(result))
        holder: Any = result
        for key in path[:-1]:
            holder = holder[key]
        old = holder[path[-1]]
        action = draw.choice(["replace", "remove", "add"])
        if action == "remove":
            del holder[path[-1]]
        elif action == "add" and isinstance(holder, list):
            holder.insert(path[-1], draw.choice([".", "x", "~", "!", None, 0, {}]))
        elif action == "add":
            holder[f"extra{draw.randint(0, 9)}"] = old
        else:
            holder[path[-1]] = _replacement(old, path[-1], draw)
        if result != certificate:
            return result


def _replacement(old: Any, key: Any, draw: random.Random) -> Any:
    if key == "kind":
        return draw.choice([kind for kind in KINDS if kind != old])
    if isinstance(old, bool) or old is None or isinstance(old, dict | list):
        return draw.choice([None, True, 7, "x", [], {}])
    if isinstance(old, int):
        return old + draw.choice([-1, 1, 100])
    if len(old) == 64:
        return "".join(draw.sample(old, len(old)))
    if not old:
        return "x"
    position = draw.randrange(len(old))
    return old[:position] + draw.choice([c for c in "0123456789/()+-xm." if c != old[position]]) + old[position + 1 :]


@pytest.mark.parametrize("name", ENTRIES)
def test_the_committed_certificates_check(name: str) -> None:
    assert accepts(ENTRIES[name], TEXTS[name])


def test_random_damage_is_rejected() -> None:
    draw = random.Random(20)
    names = sorted(ENTRIES)
    for number in range(CORRUPTIONS):
        name = names[number % len(names)]
        assert not accepts(ENTRIES[name], json.dumps(damaged(json.loads(TEXTS[name]), draw)))


def test_random_damage_under_a_new_seal_proves_nothing_else() -> None:
    """Whoever writes the seal anew meets the kernel: it rejects, or what it accepts proves the same claim in another way."""
    draw = random.Random(21)
    names = sorted(set(ENTRIES) - {"V-P-M2000", "V-P-MSE", "V-VAR", "V-VAR-CROSS"})  # those that take longest
    rejected = 0
    for number in range(CORRUPTIONS):
        entry = ENTRIES[names[number % len(names)]]
        certificate = damaged(json.loads(TEXTS[entry.name]), draw)
        try:
            outcome = verify(entry.theorem, load(sealed(certificate)), PROVED)
        except Rejected:
            rejected += 1
            continue
        assert outcome.missing or outcome.verdict.startswith(("proved", "certified on box", "refuted with witness"))
        assert certificate["claim"] == entry.theorem.fingerprint()
    assert rejected > 0.8 * CORRUPTIONS


@pytest.mark.parametrize("name", ENTRIES)
def test_a_true_certificate_of_another_statement_is_rejected(name: str) -> None:
    entry = ENTRIES[name]
    for other in list(ENTRIES)[:6]:
        if other != name:
            assert not accepts(entry, TEXTS[other])
            renamed = {**json.loads(TEXTS[other]), "theorem": name}
            assert not accepts(entry, sealed(renamed))


@pytest.mark.parametrize("name", ENTRIES)
def test_no_mutant_is_proved_by_the_steps_of_its_theorem(name: str) -> None:
    """The forger changes the claim, keeps the steps and writes hash and seal anew."""
    entry = ENTRIES[name]
    for mutant in entry.theorem.mutants:
        false = replace(entry.theorem, obligations=mutant, mutants=entry.theorem.mutants)
        forged = {**json.loads(TEXTS[name]), "claim": false.fingerprint()}
        try:
            outcome = verify(false, load(sealed(forged)), PROVED)
        except Rejected:
            continue
        assert outcome.missing  # the false obligation is one that was open before


@pytest.mark.parametrize("name", ENTRIES)
def test_every_theorem_has_mutants_and_hypotheses_that_can_be_satisfied(name: str) -> None:
    certificate = json.loads(TEXTS[name])
    assert ENTRIES[name].theorem.mutants
    assert len(certificate["mutants"]) == len(ENTRIES[name].theorem.mutants)
    for obligation in ENTRIES[name].theorem.obligations:
        if obligation.statement and not obligation.statement.exists and obligation.name in certificate["obligations"]:
            assert certificate["obligations"][obligation.name]["point"] is not None


def test_a_changed_claim_makes_its_certificate_stale() -> None:
    entry = ENTRIES["V-T3"]
    for change in (
        {"claim": entry.theorem.claim + " "},
        {"argument": "because"},
        {"conclusion": "everything is private"},
        {"box": True},
        {"refutes": True},
        {"obligations": entry.theorem.obligations[:-1]},
        {"mutants": ()},
    ):
        with pytest.raises(Rejected, match="stale"):
            verify(replace(entry.theorem, **change), load(TEXTS["V-T3"]), PROVED)


class TestVerify:
    TRUE = Obligation(name="one", statement=Statement((), (), Relation("<", parse("1"), parse("2"))))
    FALSE = Obligation(name="one", statement=Statement((), (), Relation("=", parse("1"), parse("2"))))
    STEP: ClassVar = {"kind": "sign_box", "digits": 20, "tree": ["."]}

    def theorem(self, *more: Obligation, **changes: Any) -> Theorem:
        whole = Theorem(
            name="T", claim="c", conclusion="c", argument="a", obligations=(self.TRUE, *more), mutants=((self.FALSE,),)
        )
        return replace(whole, **changes)

    def certificate(self, theorem: Theorem, **changes: Any) -> dict[str, Any]:
        made = {
            "format": 1,
            "theorem": "T",
            "claim": theorem.fingerprint(),
            "obligations": {"one": {"point": {}, "step": self.STEP}},
            "mutants": [{"obligation": "one", "point": {}}],
            **changes,
        }
        return load(sealed(made))

    def outcome(self, theorem: Theorem, established: dict[str, Outcome] | None = None, **changes: Any) -> Outcome:
        return verify(theorem, self.certificate(theorem, **changes), established or {})

    def test_the_verdict_is_the_weakest_step(self) -> None:
        assert self.outcome(self.theorem()).verdict == "proved"
        assert self.outcome(self.theorem(box=True)).verdict == "certified on box"
        assert self.outcome(self.theorem(refutes=True)).verdict == "refuted with witness"
        cite = Obligation(name="c", cite="a book")
        assert self.outcome(self.theorem(cite)).verdict == "proved modulo 1 cited"
        assert self.outcome(self.theorem(cite, refutes=True)).verdict == "refuted with witness modulo 1 cited"
        assert self.outcome(self.theorem(), obligations={}).verdict == "open"

    def test_lemmas_must_be_proved_before(self) -> None:
        theorem = self.theorem(Obligation(name="l", lemma="L"))
        assert self.outcome(theorem).missing == ("lemma L",)
        for verdict in ("open", "certified on box", "refuted with witness"):
            assert self.outcome(theorem, {"L": Outcome(verdict=verdict)}).verdict == "open"
        assert self.outcome(theorem, {"L": Outcome(verdict="proved")}).verdict == "proved"
        resting = Outcome(verdict="proved modulo 1 cited", cited=("a book",))
        assert self.outcome(theorem, {"L": resting}).cited == ("a book",)
        twice = self.theorem(Obligation(name="l", lemma="L"), Obligation(name="k", lemma="K"))
        assert self.outcome(twice, {"L": resting, "K": resting}).cited == ("a book",)

    @pytest.mark.parametrize(
        "changes",
        [
            {"claim": "0" * 64},
            {"obligations": []},
            {"obligations": {"two": {"point": {}, "step": STEP}}},
            {"obligations": {"one": {"point": {}}}},
            {"obligations": {"one": []}},
            {"obligations": {"one": {"point": None, "step": STEP}}},
            {"obligations": {"one": {"point": {"x": "1"}, "step": STEP}}},
            {"mutants": []},
            {"mutants": {}},
            {"mutants": [{"obligation": "one"}]},
            {"mutants": ["one"]},
            {"mutants": [{"obligation": "two", "point": {}}]},
            {"mutants": [{"obligation": "one", "point": {"x": "1"}}]},
        ],
    )
    def test_rejects(self, changes: dict[str, Any]) -> None:
        with pytest.raises(Rejected):
            self.outcome(self.theorem(), **changes)

    def test_rejects_another_name(self) -> None:
        certificate = {**self.certificate(self.theorem()), "theorem": "S"}
        with pytest.raises(Rejected, match="stale"):
            verify(self.theorem(), certificate, {})

    def test_a_theorem_without_mutants_or_with_a_true_mutant_is_rejected(self) -> None:
        with pytest.raises(Rejected, match="mutant"):
            self.outcome(self.theorem(mutants=()), mutants=[])
        with pytest.raises(Rejected, match="does not refute"):
            self.outcome(self.theorem(mutants=((self.TRUE,),)))

    @pytest.mark.parametrize(
        "parts", [{}, {"lemma": ""}, {"cite": ""}, {"lemma": "V-L1", "cite": "a book"}, {"cite": "c", "name": ""}]
    )
    def test_an_obligation_is_one_thing_to_show(self, parts: dict[str, str]) -> None:
        with pytest.raises(Rejected, match="obligation"):
            Obligation(**{"name": "one", **parts})

    def test_texts_that_join_to_the_same_have_other_hashes(self) -> None:
        one, two = self.theorem(claim="a\nb", conclusion="c"), self.theorem(claim="a", conclusion="b\nc")
        assert one.fingerprint() != two.fingerprint()

    def test_obligations_have_names_of_their_own(self) -> None:
        for obligations in ((), (self.TRUE, self.TRUE)):
            with pytest.raises(Rejected):
                self.outcome(self.theorem(obligations=obligations), obligations={})

    def test_existence_names_its_point_in_the_step(self) -> None:
        statement = Statement((), (), Relation("<", parse("1"), parse("2")), exists=True)
        theorem = self.theorem(obligations=(Obligation(name="one", statement=statement),))
        step = {"kind": "witness", "point": {}}
        assert self.outcome(theorem, obligations={"one": {"point": None, "step": step}}).verdict == "proved"
        with pytest.raises(Rejected):
            self.outcome(theorem, obligations={"one": {"point": {}, "step": step}})

    @pytest.mark.parametrize(
        "text", ["", "[]", "{}", '{"format": 1.5}', "NaN", "[" * 100_000, " " * 4_000_001, '{"a": Infinity}']
    )
    def test_files_of_another_form_are_rejected(self, text: str) -> None:
        with pytest.raises(Rejected):
            load(text)

    def test_a_broken_seal_is_rejected(self) -> None:
        text = sealed({**self.certificate(self.theorem()), "theorem": "S"})
        assert load(text)["theorem"] == "S"
        with pytest.raises(Rejected, match="seal"):
            load(text.replace('"S"', '"T"'))


def test_the_kernel_checks_everything_without_any_other_package() -> None:
    program = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"sympy", "flint", "numpy", "mpmath", "scipy", "sklearn", "hypothesis"}:
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Blocked())
from dpverify.cli import main
sys.exit(main(["prove", "--check-only"]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "REJECTED" not in done.stdout


def test_the_block_above_blocks() -> None:
    program = "import sys; sys.modules['flint'] = None; import dpverify; dpverify.Laplace"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False).returncode != 0


def test_the_kernel_imports_the_standard_library_only() -> None:
    import ast

    for path in sorted((ROOT / "dpverify" / "prove").glob("kernel/*.py")) + sorted(
        (ROOT / "dpverify" / "prove").glob("schemas/*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                top = name.partition(".")[0]
                assert top in sys.stdlib_module_names or name.startswith(("dpverify.prove.kernel", "dpverify.prove.schemas")), (
                    name
                )
                assert top != "pickle"
            assert not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec"))


def test_the_committed_table_is_what_the_certificates_earn() -> None:
    committed = {row["id"]: row for row in json.loads((ROOT / "reports" / "proofs.json").read_text())}
    lines = check_all(ENTRIES, set(ENTRIES))
    assert [line.entry.name for line in lines] == sorted(committed)
    for line in lines:
        row = committed[line.entry.name]
        assert (line.fault, line.verdict, line.entry.theorem.claim) == ("", row["verdict"], row["claim"])
        assert list(row) == ["id", "claim", "source", "verdict", "trust", "obligations", "witness", "seconds"]
    assert {line.verdict for line in lines} >= {"proved", "refuted with witness", RETRACTED}


@pytest.mark.parametrize("name", ["V-T3", "L-E7", "V-L8", "CH-MSE", "L-E7-NO2-UP", "V-VAR-LARGE"])
def test_proving_anew_writes_the_committed_bytes(name: str) -> None:
    assert write(certify(ENTRIES[name])) == TEXTS[name]


def test_a_missing_or_bad_certificate_is_open_or_a_fault() -> None:
    line = judge(ENTRIES["V-T3"], None, {})
    assert (line.verdict, line.fault) == ("open", "")
    assert len(line.outcome.missing) == 13
    established: dict[str, Outcome] = {}
    line = judge(ENTRIES["V-T3"], "{}", established)
    assert line.fault
    assert not established
