"""What the reference is generated from: docstrings, the parsers of the command line, JSON schemas, the catalogue.

Directives for the pages:

    public          the names that follow, one a line, with their docstrings; a path with dots names a class that is not public
    catalogue       every mechanism of the catalogue, with its parameters and its formula
    command-line    the help of a verb
    json-schema     a schema, which is a file of the package, as a table

A public name or a verb that no page shows is a warning, and warnings stop the build. Formulas become MathML, so that
pages fetch nothing.
"""

from __future__ import annotations

import contextlib
import enum
import inspect
import io
import json
import os
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from latex2mathml.converter import convert
from sphinx.util.docutils import SphinxDirective
from sphinx.util.logging import getLogger

import dpverify
from _docstrings import inline, rst
from dpverify.cli import VERBS
from dpverify.cli.common import options_of
from dpverify.mechanisms import class_names
from dpverify.mechanisms._mechanism import Mechanism
from dpverify.mechanisms._parameters import Parameter

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LOG = getLogger(__name__)
SHOWN: set[str] = set()
"""The public names and the verbs that some page shows."""


LINKED = [name for name in dpverify.__all__ if re.fullmatch(r"[A-Z]\w*[A-Z]\w*", name) and name not in class_names()]
"""Names that mean nothing but themselves wherever they stand."""


class Public(SphinxDirective):
    """The docstrings of public names."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"exclude": directives.unchanged}  # members that are not shown

    def run(self) -> list[nodes.Node]:
        names = [line.strip() for line in self.content if line.strip()]
        SHOWN.update(names)
        lines = [line for name in names for line in _autodoc(name, self.options.get("exclude"))]
        return _parsed(self, lines)


class Catalogue(SphinxDirective):
    """The docstrings of all mechanisms, each found by the registry."""

    def run(self) -> list[nodes.Node]:
        SHOWN.update(class_names())
        return _parsed(self, [line for name in class_names() for line in (f".. autoclass:: dpverify.{name}", "")])


def _parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """The nodes that autodoc makes, which speaks reStructuredText; the pages are Markdown."""
    return directive.parse_text_to_nodes("\n".join(["```{eval-rst}", *lines, "```"]))


def _autodoc(name: str, excluded: str | None) -> list[str]:
    hidden = [] if excluded is None else [f"   :exclude-members: {excluded}"]
    if "." in name:
        return [f".. autoclass:: {name}", "   :members:", *hidden, ""]
    thing = getattr(dpverify, name)
    if isinstance(thing, ModuleType):  # the function whose name is that of its package
        return [f".. autofunction:: {thing.__name__}.api.{name}", ""]
    if not inspect.isclass(thing):
        return [f".. autofunction:: dpverify.{name}", ""]
    if issubclass(thing, Exception):
        return [f".. autoexception:: dpverify.{name}", ""]
    options = ["   :members:", *hidden, *(["   :undoc-members:"] if issubclass(thing, enum.Enum) else [])]
    return [f".. autoclass:: dpverify.{name}", *options, ""]


class CommandLine(SphinxDirective):
    """What `dpverify VERB --help` prints, 80 columns wide."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        verb = self.arguments[0]
        SHOWN.add(f"dpverify {verb}")
        module, purpose = VERBS[verb]
        os.environ["COLUMNS"] = "80"
        with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.suppress(SystemExit):
            options_of(verb, purpose, import_module(module), ["--help"])
        text = output.getvalue()
        return [nodes.literal_block(text, text, language="text")]


class JsonSchema(SphinxDirective):
    """A table of the fields of a JSON schema, one table for each of its definitions that is an object."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        path = Path(dpverify.__file__).parent.parent / self.arguments[0]
        self.env.note_dependency(str(path))
        schema = json.loads(path.read_text(encoding="utf-8"))
        definitions = schema.get("$defs", {})
        shown: list[nodes.Node] = [_table(schema, definitions)]
        for name, definition in definitions.items():
            if "properties" in definition:
                title = nodes.rubric("", "", *_words(f"Fields of `{name}`"))
                shown += [title, *_described(definition), _table(definition, definitions)]
        return shown


def _described(schema: dict[str, Any]) -> list[nodes.Node]:
    return [nodes.paragraph("", "", *_words(schema["description"]))] if "description" in schema else []


def _words(text: str) -> list[nodes.Node]:
    """Text with `code` in it."""
    return [nodes.literal("", part) if place % 2 else nodes.Text(part) for place, part in enumerate(text.split("`"))]


def _table(schema: dict[str, Any], definitions: dict[str, Any]) -> nodes.table:
    required = schema.get("required", [])
    rows = [("field", "type", "meaning")]
    for name, field in schema["properties"].items():
        rows.append(
            (f"`{name}`", _type(field, definitions), ("" if name in required else "Optional. ") + field.get("description", ""))
        )
    group = nodes.tgroup("", cols=3)
    group += [nodes.colspec(colwidth=width) for width in (20, 25, 55)]
    made = [nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *_words(cell))) for cell in row)) for row in rows]
    group += [nodes.thead("", made[0]), nodes.tbody("", *made[1:])]
    return nodes.table("", group, classes=["schema"])


def _type(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        target = definitions[name]
        return f"`{name}`" if "properties" in target else _type(target, definitions)
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " or ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    for several in ("anyOf", "oneOf"):
        if several in field:
            return " or ".join(_type(one, definitions) for one in field[several])
    kinds = [field["type"]] if isinstance(field["type"], str) else field["type"]
    items = f" of {_type(field['items'], definitions)}" if field.get("items", {}).keys() - {"description"} else ""
    return " or ".join(kind + (items if kind == "array" else "") for kind in kinds)


# What autodoc finds, brought into form.


def _signature(app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: str | None) -> Any:
    if inspect.isclass(thing) and issubclass(thing, Mechanism) and thing.parameters:
        return f"({', '.join([*map(_given, thing.parameters), '*', 'sensitivity=1'])})", None
    if inspect.isclass(thing) and issubclass(thing, (Exception, enum.Enum, Mechanism)):
        return None, None
    if signature is None:
        return None, None
    names = vars(import_module(thing.__module__)) if inspect.isfunction(thing) else {}
    return re.sub(r"=([A-Z_]+)\b", lambda found: f"={names.get(found[1], found[1])!r}", signature), None


def _given(parameter: Parameter) -> str:
    if parameter.default is None:
        return parameter.name
    number = isinstance(parameter.default, str) and parameter.default.isdigit()
    return f"{parameter.name}={parameter.default if number else repr(parameter.default)}"


def _docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    lines[:] = rst("\n".join(lines), LINKED)
    if inspect.isclass(thing) and issubclass(thing, Mechanism) and thing.parameters:
        lines += [f"On the command line: ``{thing.name}``.", ""]
        for one in thing.parameters:
            default = "" if one.default is None or "default" in one.meaning else f"; default: {one.default}"
            lines += [f"``{one.name}``", f"    {inline(one.meaning)}{default}"]
        lines += ["", "``delta(epsilon)``", f"    {inline(thing.expression('delta'))}", ""]


def _left_out(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Formulas that a family states against an arithmetic `m` are for authors of mechanisms, and in the sources."""
    function = getattr(thing, "__func__", thing)
    return True if inspect.isfunction(function) and "m" in inspect.signature(function).parameters else None


def _complete(app: Sphinx, env: Any) -> None:
    wanted = {*dpverify.__all__, *(f"dpverify {verb}" for verb in VERBS)} - {"__version__"}
    if missing := sorted(wanted - SHOWN):
        LOG.warning("no page of the reference shows %s", ", ".join(missing))


def _inline_math(writer: Any, node: nodes.Element) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _block_math(writer: Any, node: nodes.Element) -> None:
    writer.body.append(convert(node.astext(), display="block"))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of all this."""
    app.add_directive("public", Public)
    app.add_directive("catalogue", Catalogue)
    app.add_directive("command-line", CommandLine)
    app.add_directive("json-schema", JsonSchema)
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-skip-member", _left_out)
    app.connect("env-check-consistency", _complete)
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    return {"parallel_read_safe": False}
