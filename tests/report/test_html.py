"""The HTML report: what it says, that its bytes are reproducible, and that a browser shows it without a complaint.

Fixed seeds; a true claim is refuted with a probability of at most 1e-6.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dpverify.audit.events import OneOf
from dpverify.audit.reading import from_objects
from dpverify.gate.claims import AnalyticClaim, Place, SampledClaim
from dpverify.gate.decide import decide
from dpverify.gate.drawing import drawn
from dpverify.gate.pictures import _law, pictured
from dpverify.report.html import as_html
from dpverify.report.html.figures import of_audit
from dpverify.report.html.style import STYLE
from dpverify.report.html.svg import ticks

if TYPE_CHECKING:
    from pathlib import Path

    from dpverify.gate.outcome import Outcome


def leaky(data: Any, rng: Any, size: int) -> Any:
    return np.rint(data + rng.laplace(0, 0.5, size))


def floats(data: Any, rng: Any, size: int) -> Any:
    return data + rng.laplace(0, 1, size)


def words(data: Any, rng: Any, size: int) -> Any:
    return [f"<{'yes' if bit else 'no'}>" for bit in rng.random(size) < (0.6 if data else 0.4)]


def vectors(data: Any, rng: Any, size: int) -> Any:
    return np.rint(rng.laplace(0, 1, (size, 2)) + np.array([0, data]))


def failing(data: Any, rng: Any, size: int) -> Any:
    raise ValueError("no noise")


def outcomes() -> list[Outcome]:
    claims: list[Any] = [
        SampledClaim(
            name=one.__name__, mechanism=one, inputs=(0, 1), epsilon=1, samples=20_000, place=Place(file="a.py", line=3)
        )
        for one in (leaky, floats, words, vectors, failing)
    ]
    noise = {"mechanism": "gaussian", "epsilon": 1, "delta": "1e-6"}
    claims += [AnalyticClaim(name=f"sigma {sigma}", parameters={"sigma": sigma}, **noise) for sigma in ("4.1", "5")]  # type: ignore[arg-type]
    claims.append(AnalyticClaim(name="pure", mechanism="laplace", parameters={"scale": 1}, epsilon=1))
    return [decide(claim, alpha=1e-7, seed=3) for claim in claims]


def page_of(found: list[Outcome]) -> str:
    pictures, profiles = drawn(found, seed=3)
    return as_html(found, seed=3, alpha=1e-6, pictures=pictures, profiles=profiles)


@pytest.fixture(scope="module")
def found() -> list[Outcome]:
    return outcomes()


@pytest.fixture(scope="module")
def page(found: list[Outcome]) -> str:
    return page_of(found)


def test_the_verdict_comes_first(page: str) -> None:
    text = html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL))
    order = [text.index(part) for part in ("3 of 8 claims are refuted.", "8 claims: 2 proved", "leaky", "Laws of the outputs")]
    assert order == sorted(order)
    for part in ("Multiply the scale by", "DP003 precision leak", "sigma = 4.22467888932683", "raised ValueError: no noise"):
        assert part in text
    assert "not refuted words" in " ".join(text.split())


def test_every_picture_is_there_and_says_what_it_shows_in_words(page: str) -> None:
    pictures = re.findall(r"<figure>.*?</figure>", page, re.DOTALL)
    titles = [re.search(r"<h3>(.*?)</h3>", one)[1] for one in pictures]  # type: ignore[index]
    five = ["Laws of the outputs", "Likelihood ratio", "Capital over samples", "Trade-off, claimed and measured", "Power"]
    assert titles == [*five * 2, *five[:4], *five, *["Privacy profile"] * 3]  # of two words no test had any power
    for one in pictures:
        svg = ElementTree.fromstring(re.search(r"<svg.*?</svg>", one, re.DOTALL)[0])  # type: ignore[index]
        assert svg.get("role") == "img"
        labels = [part.get("id") for part in svg if part.tag in ("title", "desc")]
        assert svg.get("aria-labelledby") == " ".join(map(str, labels))
        assert all(len(part.text or "") > 10 for part in svg if part.tag in ("title", "desc"))
        assert "nan" not in one
        assert "inf" not in one.replace("information", "")


def test_ids_are_unique_and_links_lead_somewhere(page: str) -> None:
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)
    labelled = re.findall(r'aria-labelledby="([^"]+)"', page)
    assert set(" ".join(labelled).split()) <= set(ids)


def test_nothing_is_fetched_and_nothing_runs(page: str) -> None:
    assert not re.search(r"<script|<link(?! rel=\"icon\" href=\"data:,\")|<img|@import|url\(|https?:|\son\w+=", page)


def test_what_mechanisms_return_cannot_become_markup(page: str) -> None:
    assert "<yes>" not in page
    assert "&lt;yes&gt;" in page


def test_the_same_results_give_the_same_bytes(page: str) -> None:
    assert page_of(outcomes()).replace("0.0", "") == page.replace("0.0", "")


def test_colours_have_contrast_in_either_scheme() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    schemes = [dict(re.findall(r"--(\w+): (#\w{6});", part)) for part in STYLE.split("prefers-color-scheme: dark")]
    assert len(schemes) == 2
    for scheme in schemes:
        for ground in ("paper", "panel"):
            for name in ("ink", "soft", "first", "second", "bad", "good", "open"):
                bright, dark = sorted((luminance(scheme[ground]), luminance(scheme[name])), reverse=True)
                assert (bright + 0.05) / (dark + 0.05) >= 4.5, (name, ground)


def test_without_pictures_the_counts_are_still_drawn(found: list[Outcome]) -> None:
    page = as_html(found[:1], seed=3, alpha=1e-6)
    assert re.findall(r"<h3>(.*?)</h3>", page) == ["Trade-off, claimed and measured", "Power"]
    assert "claim: refuted" not in page


def test_what_cannot_be_pictured_is_left_out(found: list[Outcome]) -> None:
    result = found[0].result
    assert result is not None
    assert pictured(found[4].claim, result, 0) is None  # type: ignore[arg-type]
    untested = {**result.evidence, "tests": []}
    import dataclasses

    bare = dataclasses.replace(result, witness=None, evidence=untested)
    assert pictured(found[0].claim, bare, 0) is None  # type: ignore[arg-type]


def test_a_picture_of_categories_beyond_the_largest(found: list[Outcome]) -> None:
    def many(data: Any, rng: Any, size: int) -> Any:
        return [f"word {number:03}" for number in np.minimum(rng.geometric(0.1, size), 30)]

    claim = SampledClaim(name="many", mechanism=many, inputs=(0, 1), epsilon=1, samples=2000)
    outcome = decide(claim, alpha=1e-6, seed=0)
    assert outcome.result is not None
    pictures = pictured(claim, outcome.result, 0)
    assert pictures is not None
    assert pictures.law.names[-1] == "all else"
    assert "'word 001'" in pictures.law.names
    assert sum(pictures.law.counts[0]) == pictures.drawn


def test_a_picture_of_a_character_names_the_characters() -> None:
    tables = from_objects(["1a", "2a", "3b"]), from_objects(["4b", "", "5b"])
    event = OneOf(("text:character:-1:",), (int(tables[0].column(("text:character:-1:",)).codes[0]),), ("'a'",))
    law, _ = _law(tables, tuple(map(event.mask, tables)), event)
    assert law.coordinate == "last character of output"
    assert sorted(law.names) == ["'a'", "'b'", "absent"]
    assert dict(zip(law.names, zip(*law.counts, strict=True), strict=True)) == {"'a'": (2, 0), "'b'": (1, 2), "absent": (0, 1)}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_no_line_crosses_the_key(found: list[Outcome], place: int) -> None:
    """Where lines may run anywhere: laws, likelihood ratio, capital. The key's own lines are no polylines."""
    pictures = pictured(found[place].claim, found[place].result, 0)  # type: ignore[arg-type]
    for figure in of_audit(found[place].result, pictures, "one")[:3]:  # type: ignore[arg-type]
        root = ElementTree.fromstring(figure.svg)
        lowest = max(float(one.attrib["y2"]) for one in root.iter("line") if one.attrib["class"].startswith("line "))
        lines = [one.attrib["points"] for one in root.iter("polyline")]
        heights = [float(point.partition(",")[2]) for points in lines for point in points.split()]
        assert min(heights) > lowest + 6


@pytest.mark.parametrize("reach", [(0.0, 1.0), (0.0, 123.0), (-3.0, 0.02), (9.97, 11.2), (0.0, 1e-9)])
def test_ticks_are_few_and_inside(reach: tuple[float, float]) -> None:
    found = ticks(*reach)
    assert 3 <= len(found) <= 10
    slack = 1e-9 * (reach[1] - reach[0])
    assert all(reach[0] - slack <= value <= reach[1] + slack for value in found)


PROBE = """<script>
const frames = [...document.querySelectorAll("iframe")];
window.addEventListener("load", () => {
  const seen = frames.map((frame) => {
    const inside = frame.contentDocument, root = inside.documentElement;
    const pictures = [...inside.querySelectorAll("figure svg")].map((svg) => svg.getBoundingClientRect());
    const math = inside.querySelector("math").getBoundingClientRect();
    return { wide: root.scrollWidth, room: root.clientWidth, pictures: pictures.map((box) => [box.width, box.height]),
      math: math.width, words: getComputedStyle(inside.body).color };
  });
  document.getElementById("seen").textContent = JSON.stringify(seen);
});
</script>"""


def browsed(content: str, place: Path) -> tuple[list[Any], str, set[str]]:
    """What a browser measures of a page in frames as wide as a screen and as a phone; its complaints; what the page fetched."""
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("SKIPPED: chromium is not installed: apt-get install chromium")
    frames = "".join(
        f'<iframe style="width:{width}px;height:900px" srcdoc="{html.escape(content)}"></iframe>' for width in (1200, 390)
    )
    (place / "page.html").write_text(f"<!DOCTYPE html><meta charset='utf-8'>{frames}<pre id='seen'></pre>{PROBE}")
    command = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"),
        *("--disable-component-update", "--no-first-run", f"--user-data-dir={place / 'profile'}", "--enable-logging=stderr"),
        *(f"--log-net-log={place / 'net.json'}", "--virtual-time-budget=10000", "--dump-dom", (place / "page.html").as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
    seen = json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout)[1]))  # type: ignore[index]
    complaints = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    events = re.findall(r"^\{.*\},?$", (place / "net.json").read_text(encoding="utf-8"), re.MULTILINE)
    started = [json.loads(event.rstrip(",")).get("params", {}) for event in events if '"initiator"' in event]
    # What the browser asks for on its own account has "not an origin" for its initiator.
    fetched = {one["url"] for one in started if one["initiator"] != "not an origin" and not one["url"].startswith("file:")}
    return seen, complaints, fetched


def test_a_browser_shows_it_without_errors_or_requests(page: str, tmp_path: Path) -> None:
    seen, complaints, fetched = browsed(page, tmp_path)
    for frame in seen:
        assert len(frame["pictures"]) == page.count("<figure>") == 22
        assert all(width > 250 and height > 150 for width, height in frame["pictures"])
        assert frame["wide"] <= frame["room"]  # nothing sticks out, on a phone either
        assert frame["math"] > 50
    assert complaints == ""
    assert fetched == set()


def test_the_check_above_can_fail(tmp_path: Path) -> None:
    content = "<math><mi>x</mi></math><div style='width:2000px'>wide</div><img src='http://127.0.0.1:9/x.png'>"
    seen, complaints, fetched = browsed(f"{content}<script>console.error('no')</script>", tmp_path)
    assert all(frame["wide"] > frame["room"] for frame in seen)
    assert "no" in complaints
    assert fetched == {"http://127.0.0.1:9/x.png"}
