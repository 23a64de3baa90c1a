"""A small plotter: axes, curves, steps and points as SVG. Numbers are written with two decimals, so the bytes are the same
on every machine; colours are classes, so that the page's scheme applies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 520.0, 330.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 26.0, 14.0, 46.0
KEY, KEY_STEP = 16.0, 19.0
"""Where the first line of a key stands, below the top, and how far the lines are apart."""

CLEAR = 10.0
"""Between the last line of a key and what is drawn."""

Points = Sequence[tuple[float, float]]


@dataclass(slots=True)
class Plot:
    """One picture in the making. `name` begins its ids; `title` and `words` are its text alternative."""

    name: str
    title: str
    words: str
    across: tuple[float, float]
    upward: tuple[float, float]
    across_label: str
    upward_label: str
    names: Sequence[str] = ()
    parts: list[str] = field(default_factory=list)

    def x(self, value: float) -> float:
        """From data to the picture."""
        return LEFT + (value - self.across[0]) / (self.across[1] - self.across[0]) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """From data to the picture, upward."""
        inside = min(max(value, self.upward[0]), self.upward[1])
        return HEIGHT - BOTTOM - (inside - self.upward[0]) / (self.upward[1] - self.upward[0]) * (HEIGHT - TOP - BOTTOM)

    def line(self, points: Points, style: str) -> None:
        """A curve through the points."""
        path = " ".join(f"{self.x(x):.2f},{self.y(y):.2f}" for x, y in points)
        self.parts.append(f'<polyline class="line {style}" points="{path}"/>')

    def steps(self, edges: Sequence[float], heights: Sequence[float], style: str) -> None:
        """A histogram's outline."""
        points = [(edges[0], 0.0)]
        for left, right, height in zip(edges, edges[1:], heights, strict=False):
            points += [(left, height), (right, height)]
        self.line([*points, (edges[-1], 0.0)], style)

    def band(self, lower: Points, upper: Points, style: str = "band") -> None:
        """The area between two curves."""
        around = [*upper, *reversed(lower)]
        path = " ".join(f"{self.x(x):.2f},{self.y(y):.2f}" for x, y in around)
        self.parts.append(f'<polygon class="{style}" points="{path}"/>')

    def block(self, left: float, right: float, part: float = 1.0) -> None:
        """A marked stretch, from the bottom up, as opaque as `part`."""
        x, width = self.x(left), self.x(right) - self.x(left)
        size = f'x="{x:.2f}" y="{TOP:.2f}" width="{width:.2f}" height="{HEIGHT - TOP - BOTTOM:.2f}"'
        self.parts.append(f'<rect class="mark" {size} opacity="{part:.2f}"/>')

    def dot(self, x: float, y: float, style: str = "") -> None:
        """A point."""
        self.parts.append(f'<circle class="dot {style}" cx="{self.x(x):.2f}" cy="{self.y(y):.2f}" r="4.5"/>')

    def label(self, x: float, y: float, words: str) -> None:
        """Words beside a point, on the side where there is room."""
        right = self.x(x) < WIDTH - RIGHT - 90
        place = f'x="{self.x(x) + (11 if right else -11):.2f}" y="{self.y(y) - 8:.2f}"'
        self.parts.append(f'<text text-anchor="{"start" if right else "end"}" {place}>{escape(words)}</text>')

    def key(self, entries: Sequence[tuple[str, str]]) -> None:
        """Which line is which, in the upper right corner."""
        for number, (style, words) in enumerate(entries):
            y = TOP + KEY + KEY_STEP * number
            x = WIDTH - RIGHT - 8
            self.parts.append(f'<text class="{style}" text-anchor="end" x="{x - 34:.2f}" y="{y:.2f}">{escape(words)}</text>')
            ends = f'x1="{x - 28:.2f}" x2="{x:.2f}" y1="{y - 4:.2f}" y2="{y - 4:.2f}"'
            self.parts.append(f'<line class="line {style}" {ends}/>')

    def drawn(self) -> str:
        """The picture."""
        ids = f"{self.name}-title {self.name}-words"
        head = (
            f'<svg role="img" aria-labelledby="{ids}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}">'
            f'<title id="{self.name}-title">{escape(self.title)}</title>'
            f'<desc id="{self.name}-words">{escape(self.words)}</desc>'
        )
        return "\n".join([head, *self._axes(), *self.parts, "</svg>"])

    def _axes(self) -> list[str]:
        left, right, bottom = LEFT, WIDTH - RIGHT, HEIGHT - BOTTOM
        found = []
        for value in ticks(*self.upward):
            y = self.y(value)
            found.append(f'<line class="grid" x1="{left:.2f}" x2="{right:.2f}" y1="{y:.2f}" y2="{y:.2f}"/>')
            found.append(f'<text class="soft" text-anchor="end" x="{left - 6:.2f}" y="{y + 4:.2f}">{value:g}</text>')
        found += self._named() if self.names else self._numbered()
        middle = (TOP + bottom) / 2
        return [
            *found,
            f'<path class="axis" d="M{left:.2f} {TOP:.2f}V{bottom:.2f}H{right:.2f}"/>',
            f'<text class="soft" text-anchor="middle" x="{(left + right) / 2:.2f}" y="{HEIGHT - 8:.2f}">'
            f"{escape(self.across_label)}</text>",
            f'<text class="soft" text-anchor="middle" transform="translate(13 {middle:.2f}) rotate(-90)">'
            f"{escape(self.upward_label)}</text>",
        ]

    def _numbered(self) -> list[str]:
        return [
            f'<text class="soft" text-anchor="middle" x="{self.x(value):.2f}" y="{HEIGHT - BOTTOM + 17:.2f}">{value:g}</text>'
            for value in ticks(*self.across)
        ]

    def _named(self) -> list[str]:
        every = max(1, math.ceil(len(self.names) / 10))
        return [
            f'<text class="soft" text-anchor="middle" x="{self.x(place + 0.5):.2f}" y="{HEIGHT - BOTTOM + 17:.2f}">'
            f"{escape(name if len(name) <= 8 else name[:7] + '…')}</text>"
            for place, name in enumerate(self.names)
            if place % every == 0
        ]


def below_key(low: float, high: float, entries: int) -> tuple[float, float]:
    """The axis on which all that lies between `low` and `high` stays below a key of so many entries."""
    taken = (KEY + KEY_STEP * (entries - 1) + CLEAR) / (HEIGHT - TOP - BOTTOM)
    return low, low + (high - low) / (1 - taken)


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high, four to nine of them."""
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    for factor in (1, 2, 5):
        if (high - low) / (factor * step) <= 8:
            step *= factor
            break
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, math.floor(high / step + 1e-9) + 1)]
