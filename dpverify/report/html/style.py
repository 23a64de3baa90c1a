"""The look of the HTML report: colours of at least 4.5 to 1 in either scheme, one column on a phone."""

from __future__ import annotations

_LIGHT = """
  --paper: #ffffff; --ink: #1c2024; --soft: #55606b; --line: #d3d9df; --panel: #f5f7f9; --first: #0b5cad; --second: #a43c00;
  --bad: #a4161a; --good: #1b6e3c; --open: #7a5200; --mark: #f1d58a;"""
_DARK = """
  --paper: #14171a; --ink: #e8ebee; --soft: #a9b4be; --line: #3a424a; --panel: #1d2226; --first: #7db8f0; --second: #f0a070;
  --bad: #ff9a94; --good: #7fd6a0; --open: #e6bd62; --mark: #5d4a12;"""

_FIGURES = """
.figures { display: grid; margin: 1.2rem 0; gap: 1.2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; padding: .9rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--panel); }
figcaption { font-size: .9rem; color: var(--soft); margin-top: .4rem; }
svg { width: 100%; height: auto; display: block; } svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .axis { stroke: var(--soft); stroke-width: 1; fill: none; } svg .grid { stroke: var(--line); stroke-width: 1; }
svg .first { stroke: var(--first); } svg .second { stroke: var(--second); stroke-dasharray: 6 3; }
svg .claim { stroke: var(--ink); stroke-dasharray: 2 3; } svg .line { fill: none; stroke-width: 2; }
svg .dot { fill: var(--ink); } svg .dot.bad { fill: var(--bad); } svg .mark { fill: var(--mark); }
svg .band { fill: var(--first); opacity: .18; } svg .certain { fill: var(--first); stroke: var(--first); stroke-width: 1.5; }
svg .perfect { stroke: var(--soft); stroke-width: 1; }
svg .soft { fill: var(--soft); } svg text.first { fill: var(--first); stroke: none; }
svg text.second { fill: var(--second); stroke: none; } svg text.claim, svg text.perfect { stroke: none; }
"""

STYLE = (
    ":root { color-scheme: light dark;"
    + _LIGHT
    + " }\n@media (prefers-color-scheme: dark) { :root {"
    + _DARK
    + """ } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem clamp(.8rem, 4vw, 2.5rem) 4rem; max-width: 76rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
a { color: var(--first); }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--first); outline-offset: 2px; }
.skip { position: absolute; left: -100rem; } .skip:focus { left: 1rem; background: var(--paper); padding: .5rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .6rem 0; } h2 { font-size: 1.3rem; margin: 0 0 .5rem; }
h3 { font-size: 1rem; margin: 0 0 .3rem; }
.verdict { border: 1px solid var(--line); border-left: .6rem solid var(--soft); background: var(--panel); border-radius: .5rem;
  padding: 1rem 1.2rem; margin: 1rem 0; }
.verdict p { margin: .3rem 0; } .verdict strong { font-size: 1.25rem; }
.refuted, .error { border-left-color: var(--bad); } .not-refuted, .proved { border-left-color: var(--good); }
.undecided { border-left-color: var(--open); }
.word { font-weight: 700; white-space: nowrap; } .word.refuted, .word.error { color: var(--bad); }
.word.not-refuted, .word.proved { color: var(--good); } .word.undecided { color: var(--open); }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .4rem .7rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; }
section { border-top: 2px solid var(--line); margin-top: 2.5rem; padding-top: 1.5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: 1rem 0; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; overflow-x: auto; overflow-y: hidden; }
"""
    + _FIGURES
    + """math { font-size: 1.1em; } code, pre { font: .88rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: .8rem; }
details { margin: .8rem 0; } summary { cursor: pointer; font-weight: 600; padding: .3rem 0; }
footer { margin-top: 3rem; color: var(--soft); font-size: .9rem; border-top: 1px solid var(--line); padding-top: 1rem; }
@media (max-width: 34rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .6rem; } h1 { font-size: 1.35rem; }
  #claims thead { display: none; } #claims tr { display: block; border-bottom: 1px solid var(--line); padding: .4rem 0; }
  #claims td { display: block; border: 0; padding: .1rem .3rem; }
  #claims td + td + td::before { content: attr(data-label) ": "; color: var(--soft); }
  svg text { font-size: 17px; } figure { padding: .5rem; } }
@media print { body { max-width: none; } section { break-inside: avoid; } }
"""
)
"""Of the page."""

PIECE = (
    ".dpverify {"
    + _LIGHT
    + """ padding: .8rem 1rem; background: var(--paper); color: var(--ink); border: 1px solid var(--line);
  border-radius: .5rem; }
@media (prefers-color-scheme: dark) { .dpverify {"""
    + _DARK
    + """ } }
.dpverify { p { margin: 0 0 .5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); font-weight: 400; } dd { margin: 0; overflow-wrap: anywhere; } figure p { font-weight: 700; }
.word.refuted, .word.error { color: var(--bad); } .word.not-refuted, .word.proved { color: var(--good); }
.word.undecided { color: var(--open); } code { color: inherit; background: none; }"""
    + _FIGURES
    + "}"
)
"""Of a piece of a notebook: nothing of it reaches beyond the piece."""
