"""K2xx: names of messages, structs and fields, their aliases and their descriptions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity
from kwirec.diagnostics.edits import Fix
from kwirec.diagnostics.examples import clock, field, files
from kwirec.diagnostics.source import Span
from kwirec.frontend.edits import renamed
from kwirec.frontend.syntax import FieldDecl, MessageDecl
from kwirec.ir.sites import FieldSite, MessageSite, Sites, StructSite
from kwirec.naming import RESERVED_CLASSES, is_python_keyword, python_name, snake_case
from kwirec.validation.rule import repeated, rule
from kwirec.versions import in_words

FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")


def _camel_case(name: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", name)
    joined = "".join(word[0].upper() + word[1:] for word in words).lstrip("0123456789")
    return joined[:1].upper() + joined[1:]


def _invalid(at: FieldSite | StructSite, what: str, name: str, span: Span, expected: str, fix: Fix = ()) -> Finding:
    """Return a finding about an invalid name. Suggest ``name`` in camel case if it contains letters."""
    helps = [f"write `{joined}`"] if (joined := _camel_case(name)) else []
    return at.finding(f"invalid {what} `{name}`", span, f"expected {expected}", helps=helps, fix=fix)


@rule(
    "K201",
    offending=clock(field("time-zone")),
    corrected=clock(field("TimeZone")),
    fixable=True,
)
def field_name(at: FieldSite) -> Iterator[Finding]:
    """The name, an alias or the entity type of a field is not a letter followed by letters and digits.

    Names become class attributes, table columns and JSON keys. Only letters and digits are valid in all three.
    """
    names = [("field name", at.decl.name), *(("alias", alias) for alias in at.decl.aliases)]
    names += [("entity type", at.decl.entity_type)] if at.decl.entity_type is not None else []
    for what, written in names:
        if not FIELD_NAME.fullmatch(written.value):
            fix = _field_fix(at) if written is at.decl.name else ()
            yield _invalid(at, what, written.value, written.span, "a letter followed by letters and digits", fix)


def _field_fix(at: FieldSite) -> Fix:
    """Return the fix that writes the name in camel case, unless another field of the struct already has this name."""
    name, new = at.decl.name, _camel_case(at.field.name)
    others = {snake_case(_camel_case(other.name)) for other in at.struct.fields if other is not at.field}
    is_new = name.value.isascii() and bool(new) and snake_case(new) not in others
    return renamed(name.span, name.value, new) if is_new else ()


@rule(
    "K202",
    offending=clock(name="clock"),
    corrected=clock(),
)
def type_name(at: StructSite) -> Iterator[Finding]:
    """The name of a message or struct, or an alias of a message, is not a capital letter followed by letters and
    digits.

    The name becomes the name of a class, and the capital letter distinguishes structs from primitive types.
    """
    names = [(f"{'message' if at.is_root else 'struct'} name", at.struct.name, at.name_span)]
    if isinstance(at.decl, MessageDecl):
        names += (("alias", alias.value, alias.span) for alias in at.decl.aliases)
    for what, name, span in names:
        if not _TYPE_NAME.fullmatch(name):
            yield _invalid(at, what, name, span, "a capital letter followed by letters and digits")
        elif at.is_root and name in RESERVED_CLASSES:
            yield at.finding(
                f"reserved {what} `{name}`", span, "generated modules use this name", helps=["choose another name"]
            )


@rule(
    "K203",
    offending=clock(field("Zone"), field("Zone", "int8", versions="1+")),
    corrected=clock(field("Zone"), field("ZoneOffset", "int8", versions="1+")),
)
def duplicate_field(at: StructSite) -> Iterator[Finding]:
    """Two fields of one struct have the same name.

    A struct becomes one class for all versions, with one attribute per name. The names clash even if the fields never
    occur in the same version.
    """
    for first, site in repeated(at.fields, lambda site: site.field.name):
        yield site.finding(
            f"`{at.struct.name}` has two fields `{site.field.name}`",
            site.decl.name.span,
            "defined again here",
            others=[(first.decl.name.span, "first defined here")],
            helps=["rename one of them"],
        )


@rule(
    "K204",
    offending=clock(field("ZoneId"), field("ZoneID", "int8", versions="1+")),
    corrected=clock(field("ZoneId"), field("ZoneNumber", "int8", versions="1+")),
)
def attribute_clash(at: StructSite) -> Iterator[Finding]:
    """Two fields of one struct have different names but become the same attribute in Python.

    Attributes and columns are named in snake case, so `ZoneId` and `ZoneID` would both be `zone_id`.
    """
    for first, site in repeated(at.fields, lambda site: snake_case(site.field.name)):
        attribute = snake_case(site.field.name)
        if first.field.name != site.field.name:
            yield site.finding(
                f"fields `{first.field.name}` and `{site.field.name}` would both be `{attribute}` in Python",
                site.decl.name.span,
                f"becomes `{attribute}`",
                others=[(first.decl.name.span, f"also becomes `{attribute}`")],
                helps=["rename one of them"],
            )


@rule(
    "K205",
    offending=clock(field("Zone", aliases=["Region"]), field("Region")),
    corrected=clock(field("Zone", aliases=["Region"]), field("Country")),
)
def alias_clash(at: StructSite) -> Iterator[Finding]:
    """An alias of a field is the name or an alias of another field in the same version.

    Request logs use the names of the broker's release. A name that refers to two fields of one version is ambiguous.
    """
    known: defaultdict[str, dict[int, tuple[FieldSite, Span]]] = defaultdict(dict)
    for number, site in enumerate(at.fields):
        known[site.field.name][number] = (site, site.decl.name.span)
    for number, site in enumerate(at.fields):
        for alias in site.decl.aliases:
            for other, span in known[alias.value].values():
                shared = site.field.versions.intersect(other.field.versions)
                if other is not site and shared:
                    yield site.finding(
                        f"alias `{alias.value}` of `{site.field.name}` also refers to `{other.field.name}`",
                        alias.span,
                        f"both exist in {in_words(shared)}",
                        others=[(span, f"`{alias.value}` is also defined here")],
                        helps=["remove the alias, or make the versions of the two fields disjoint"],
                    )
            known[alias.value].setdefault(number, (site, alias.span))


@rule(
    "K206",
    severity=Severity.NOTE,
    offending=clock(field("From", "int64", about="The beginning.")),
    corrected=clock(field("Start", "int64", about="The beginning.")),
)
def python_keyword(at: FieldSite) -> Iterator[Finding]:
    """The name of a field is a Python keyword.

    The attribute of the generated class gets a trailing underscore, which its users have to know.
    """
    if is_python_keyword(at.field.name):
        yield at.finding(
            f"field `{at.field.name}` becomes `{python_name(at.field.name)}` in Python",
            at.decl.name.span,
            f"`{snake_case(at.field.name)}` is a keyword",
        )


@rule(
    "K207",
    severity=Severity.WARNING,
    offending=clock(field("Zone", about="")),
    corrected=clock(field("Zone")),
)
def missing_description(sites: Sites) -> Iterator[Finding]:
    """A message, struct or field has no description.

    Descriptions become the docstrings of the generated classes. Messages, common structs and fields have `about`. A
    field with an inline struct has `structAbout` for the struct, next to `about`. Kafka's own definitions describe
    only fields. If the JSON files describe only fields, there is only one finding. Definitions in the dialect of
    franz-go may lack descriptions.
    """
    structs = [struct for at in sites if at.decl.dialect != "franz-go" for struct in at.structs]
    in_json = [at for at in structs if at.message.decl.dialect == "json"]
    only_fields = not any(at.struct.doc.strip() for at in in_json)
    if only_fields and in_json:
        yield in_json[0].finding(
            "no message and no struct is described",
            in_json[0].name_span,
            "such as this one",
            helps=["add `about` to messages and common structs, and `structAbout` to fields with inline structs"],
        )
    for at in structs:
        attribute = "structAbout" if isinstance(at.decl, FieldDecl) else "about"
        if not at.struct.doc.strip() and not (only_fields and at.message.decl.dialect == "json"):
            what = "message" if at.is_root else "struct"
            yield _undescribed(at, f"{what} `{at.struct.name}`", attribute)
        for site in at.fields:
            if not site.field.doc.strip():
                yield _undescribed(site, f"field `{site.field.name}`", "about")


def _undescribed(at: StructSite | FieldSite, what: str, attribute: str) -> Finding:
    span = at.name_span if isinstance(at, StructSite) else at.decl.name.span
    label, help = f"no `{attribute}`", f"add `{attribute}`"
    if at.message.decl.dialect == "krammar":
        label, help = "no comment above it", "add a comment above it"
        if attribute == "structAbout":
            label, help = "no paragraph about it", f"end the comment above with a paragraph `{at.struct.name}: …`"
    return at.finding(f"{what} has no description", span, label, helps=[help])


@rule(
    "K208",
    offending=files(clock(), clock(name="CLOCK", about="Another clock.")),
    corrected=files(clock(), clock(name="Alarm", about="Another clock.")),
)
def message_name_clash(sites: Sites) -> Iterator[Finding]:
    """Two messages become the same module, or an alias of one is the name or an alias of the other.

    Modules are named in snake case, and request logs identify messages by name.
    """
    for first, at in repeated(sites, lambda at: snake_case(at.message.name)):
        module = snake_case(at.message.name)
        yield at.finding(
            f"messages `{first.message.name}` and `{at.message.name}` would both be the module `{module}`",
            at.decl.name.span,
            f"becomes `{module}`",
            others=[(first.decl.name.span, f"also becomes `{module}`")],
            helps=["rename one of them"],
        )
    known = {at.message.name: (at, at.decl.name.span) for at in sites}
    for at in sites:
        for alias in at.decl.aliases:
            owner, span = known.setdefault(alias.value, (at, alias.span))
            if owner is not at:
                yield at.finding(
                    f"alias `{alias.value}` of `{at.message.name}` also refers to `{owner.message.name}`",
                    alias.span,
                    "the alias",
                    others=[(span, "also defined here")],
                    helps=["remove the alias"],
                )


@rule(
    "K209",
    severity=Severity.NOTE,
    offending="// Watch.json\n" + clock(),
    corrected="// Clock.json\n" + clock(),
)
def file_name(at: MessageSite) -> Iterator[Finding]:
    """The file name differs from the message name.

    Definitions are easier to find and to compare between releases if each file is named after its message.
    """
    source = at.decl.name.span.source
    if source.name.endswith(".json") and source.stem != at.message.name:
        yield at.finding(
            f"message `{at.message.name}` is in a file named `{source.stem}.json`",
            at.decl.name.span,
            "the name of the message",
            helps=[f"rename the file to `{at.message.name}.json`"],
        )
