"""K2xx: names of messages, structs and fields, their aliases and their descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity
from kwirec.frontend.syntax import FieldDecl
from kwirec.ir.sites import FieldSite, MessageSite, Sites, StructSite
from kwirec.naming import RESERVED_CLASSES, is_python_keyword, python_name, snake_case
from kwirec.validation.examples import clock, field, files
from kwirec.validation.rule import on_field, on_message, on_schema, on_struct
from kwirec.versions import in_words

_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")


def _camel_case(name: str) -> str:
    """The nearest name that is allowed, or an empty string."""
    words = re.findall(r"[A-Za-z0-9]+", name)
    joined = "".join(word[0].upper() + word[1:] for word in words).lstrip("0123456789")
    return joined[:1].upper() + joined[1:]


@on_field(
    "K201",
    "field-name",
    offending=clock(field("time-zone")),
    corrected=clock(field("TimeZone")),
)
def field_name(at: FieldSite) -> Iterator[Finding]:
    """The name of a field is not a letter followed by letters and digits.

    Names become attributes of classes, columns of tables and keys of JSON objects; only letters and digits mean
    the same in all of them.
    """
    if not _FIELD_NAME.fullmatch(at.field.name):
        better = _camel_case(at.field.name)
        yield at.finding(
            f"`{at.field.name}` cannot be the name of a field",
            at.decl.name.span,
            "a letter followed by letters and digits",
            helps=[f"write `{better}`"] if better else [],
        )


@on_struct(
    "K202",
    "type-name",
    offending=clock(name="clock"),
    corrected=clock(),
)
def type_name(at: StructSite) -> Iterator[Finding]:
    """The name of a message or struct is not a capital letter followed by letters and digits.

    It becomes the name of a class, and the capital is what tells structs from primitive types.
    """
    if not _TYPE_NAME.fullmatch(at.struct.name):
        better = _camel_case(at.struct.name)
        yield at.finding(
            f"`{at.struct.name}` cannot be the name of a {'message' if at.is_root else 'struct'}",
            at.name_span,
            "a capital followed by letters and digits",
            helps=[f"write `{better}`"] if better else [],
        )
    elif at.is_root and at.struct.name in RESERVED_CLASSES:
        yield at.finding(
            f"`{at.struct.name}` cannot be the name of a message",
            at.name_span,
            "generated modules need this name themselves",
            helps=["give the message another name"],
        )


@on_struct(
    "K203",
    "duplicate-field",
    offending=clock(field("Zone"), field("Zone", "int8", versions="1+")),
    corrected=clock(field("Zone"), field("ZoneOffset", "int8", versions="1+")),
)
def duplicate_field(at: StructSite) -> Iterator[Finding]:
    """Two fields of one struct have the same name.

    A struct becomes one class for all its versions, with one attribute for each name, even when the fields are
    never there together.
    """
    first: dict[str, FieldSite] = {}
    for one in at.fields:
        if (earlier := first.setdefault(one.field.name, one)) is not one:
            yield one.finding(
                f"`{at.struct.name}` has two fields `{one.field.name}`",
                one.decl.name.span,
                "named again here",
                others=[(earlier.decl.name.span, "first named here")],
                helps=["give one of them another name"],
            )


@on_struct(
    "K204",
    "attribute-clash",
    offending=clock(field("ZoneId"), field("ZoneID", "int8", versions="1+")),
    corrected=clock(field("ZoneId"), field("ZoneNumber", "int8", versions="1+")),
)
def attribute_clash(at: StructSite) -> Iterator[Finding]:
    """Two fields of one struct differ by name but become the same attribute in Python.

    Attributes and columns are written in snake case: `ZoneId` and `ZoneID` are both `zone_id`, and one would hide
    the other.
    """
    first: dict[str, FieldSite] = {}
    for one in at.fields:
        attribute = snake_case(one.field.name)
        earlier = first.setdefault(attribute, one)
        if earlier.field.name != one.field.name:
            yield one.finding(
                f"fields `{earlier.field.name}` and `{one.field.name}` would both be `{attribute}` in Python",
                one.decl.name.span,
                f"`{attribute}`",
                others=[(earlier.decl.name.span, f"`{attribute}` as well")],
                helps=["give one of them a name with other words"],
            )


@on_struct(
    "K205",
    "alias-clash",
    offending=clock(field("Zone", aliases=["Region"]), field("Region")),
    corrected=clock(field("Zone", aliases=["Region"]), field("Country")),
)
def alias_clash(at: StructSite) -> Iterator[Finding]:
    """A former name of a field is the name or a former name of another field that is there in the same versions.

    Request logs carry the names of the broker's release. A name that stands for two fields of one version cannot
    be read back.
    """
    known = [(one, one.field.name, one.decl.name.span) for one in at.fields]
    for one in at.fields:
        for alias in one.decl.aliases:
            for other, name, span in known:
                shared = one.field.versions.intersect(other.field.versions)
                if other is not one and name == alias.value and shared:
                    yield one.finding(
                        f"alias `{alias.value}` of `{one.field.name}` also stands for `{other.field.name}`",
                        alias.span,
                        f"both are there in {in_words(shared)}",
                        others=[(span, f"`{name}` is taken here")],
                        helps=["remove the alias, or keep the versions of the two fields apart"],
                    )
            known.append((one, alias.value, alias.span))


@on_field(
    "K206",
    "python-keyword",
    severity=Severity.NOTE,
    relaxable=True,
    offending=clock(field("From", "int64", about="The beginning.")),
    corrected=clock(field("Start", "int64", about="The beginning.")),
)
def python_keyword(at: FieldSite) -> Iterator[Finding]:
    """The name of a field is a keyword of Python.

    The attribute gets an underscore at its end. That works, but whoever uses the generated class has to know it.
    """
    if is_python_keyword(at.field.name):
        yield at.finding(
            f"field `{at.field.name}` will be `{python_name(at.field.name)}` in Python",
            at.decl.name.span,
            f"`{snake_case(at.field.name)}` is a keyword",
        )


@on_struct(
    "K207",
    "missing-description",
    severity=Severity.WARNING,
    relaxable=True,
    offending=clock(field("Zone", about="")),
    corrected=clock(field("Zone")),
)
def missing_description(at: StructSite) -> Iterator[Finding]:
    """A message, struct or field has no description.

    Descriptions are the docstrings of the generated classes and the text of the protocol guide. A message, a
    common struct and a field have `about`; an inline struct has `structAbout` beside the `about` of its field.
    """
    attribute = "structAbout" if isinstance(at.struct.decl, FieldDecl) else "about"
    if not at.struct.doc.strip():
        what = "message" if at.is_root else "struct"
        yield _undescribed(at, f"{what} `{at.struct.name}`", attribute)
    for one in at.fields:
        if not one.field.doc.strip():
            yield _undescribed(one, f"field `{one.field.name}`", "about")


def _undescribed(at: StructSite | FieldSite, what: str, attribute: str) -> Finding:
    span = at.name_span if isinstance(at, StructSite) else at.decl.name.span
    return at.finding(f"{what} has no description", span, f"no `{attribute}`", helps=[f"add `{attribute}`"])


@on_schema(
    "K208",
    "message-name-clash",
    offending=files(clock(), clock(name="CLOCK", about="Another clock.")),
    corrected=files(clock(), clock(name="Alarm", about="Another clock.")),
)
def message_name_clash(sites: Sites) -> Iterator[Finding]:
    """Two messages become the same module, or a former name of one is a name of the other.

    Every message is generated into a module named in snake case, and request logs identify messages by name.
    """
    modules: dict[str, MessageSite] = {}
    for at in sites.messages:
        module = snake_case(at.message.name)
        if (earlier := modules.setdefault(module, at)) is not at:
            yield at.finding(
                f"messages `{earlier.message.name}` and `{at.message.name}` would both be the module `{module}`",
                at.decl.name.span,
                f"`{module}`",
                others=[(earlier.decl.name.span, f"`{module}` as well")],
                helps=["give one of them a name with other words"],
            )
    yield from _alias_clashes(sites)


def _alias_clashes(sites: Sites) -> Iterator[Finding]:
    known = {at.message.name: (at, at.decl.name.span) for at in sites.messages}
    for at in sites.messages:
        for alias in at.decl.aliases:
            owner, span = known.setdefault(alias.value, (at, alias.span))
            if owner is not at:
                yield at.finding(
                    f"alias `{alias.value}` of `{at.message.name}` also stands for `{owner.message.name}`",
                    alias.span,
                    "the alias",
                    others=[(span, "taken here")],
                    helps=["remove the alias"],
                )


@on_message(
    "K209",
    "file-name",
    severity=Severity.NOTE,
    relaxable=True,
    offending="// Watch.json\n" + clock(),
    corrected="// Clock.json\n" + clock(),
)
def file_name(at: MessageSite) -> Iterator[Finding]:
    """The file of a message has another name than the message.

    One message to a file with the message's name is how people find definitions, and how they are compared
    between releases.
    """
    source = at.decl.name.span.source
    if source.name.endswith(".json") and source.stem != at.message.name:
        yield at.finding(
            f"message `{at.message.name}` is in a file named `{source.stem}.json`",
            at.decl.name.span,
            "the name of the message",
            helps=[f"rename the file to `{at.message.name}.json`"],
        )


RULES = (
    field_name,
    type_name,
    duplicate_field,
    attribute_clash,
    alias_clash,
    python_keyword,
    missing_description,
    message_name_clash,
    file_name,
)
