"""K7xx: messages as a whole and in relation to each other: keys, pairs, listeners, coordinator records."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity, did_you_mean
from kwirec.diagnostics.source import Span
from kwirec.frontend.syntax import Spanned
from kwirec.ir.schema import MessageKind
from kwirec.ir.sites import MessageSite, Sites
from kwirec.validation.examples import clock, files, request, response
from kwirec.validation.rule import on_message, on_schema
from kwirec.versions import MAX_VERSION, VersionRange

KEYED = {
    MessageKind.REQUEST: "request",
    MessageKind.RESPONSE: "response",
    MessageKind.METADATA: "metadata record",
    MessageKind.COORDINATOR_KEY: "coordinator key",
    MessageKind.COORDINATOR_VALUE: "coordinator value",
}
"""The kinds of messages that are identified by an api key, in the words of findings."""

RPC = (MessageKind.REQUEST, MessageKind.RESPONSE)
COORDINATOR = (MessageKind.COORDINATOR_KEY, MessageKind.COORDINATOR_VALUE)
LISTENERS = ("broker", "controller", "zkBroker")


def _key_span(at: MessageSite) -> Span:
    return at.decl.api_key.span if at.decl.api_key else at.decl.name.span


@on_message(
    "K701",
    "missing-api-key",
    offending=clock(type="metadata"),
    corrected=clock(type="metadata", apiKey=0),
)
def missing_api_key(at: MessageSite) -> Iterator[Finding]:
    """A request, response, metadata record or coordinator record has no `apiKey`.

    The number is how a reader knows which message follows.
    """
    if at.decl.api_key is None and at.message.kind in KEYED:
        yield at.finding(
            f"{KEYED[at.message.kind]} `{at.message.name}` has no `apiKey`",
            at.decl.name.span,
            "needs a number to be known by",
            others=[(at.decl.type.span, "because of its type")],
            helps=["add `apiKey`"],
        )


@on_schema(
    "K702",
    "duplicate-api-key",
    offending=files(request(), response(), request(name="AlarmRequest"), response(name="AlarmResponse")),
    corrected=files(
        request(), response(), request(name="AlarmRequest", apiKey=901), response(name="AlarmResponse", apiKey=901)
    ),
)
def duplicate_api_key(sites: Sites) -> Iterator[Finding]:
    """Two requests, or two responses, have the same `apiKey`.

    The key in the header of a request is all that says which request follows.
    """
    yield from _same_key(sites, RPC)


@on_schema(
    "K703",
    "duplicate-record-id",
    relaxable=True,
    offending=files(clock(type="metadata", apiKey=0), clock(type="metadata", apiKey=0, name="Alarm")),
    corrected=files(clock(type="metadata", apiKey=0), clock(type="metadata", apiKey=1, name="Alarm")),
)
def duplicate_record_id(sites: Sites) -> Iterator[Finding]:
    """Two metadata records, coordinator keys or coordinator values of one log have the same `apiKey`.

    The number at the beginning of a record says which one it is. Every log numbers its own, and the definitions of
    one folder belong to one log. A union of releases may hold a number twice if it changed its meaning between
    releases: waive that finding with the story.
    """
    yield from _same_key(sites, (MessageKind.METADATA, *COORDINATOR))


def _same_key(sites: Sites, kinds: Collection[MessageKind]) -> Iterator[Finding]:
    groups: dict[tuple[MessageKind, str], dict[int, MessageSite]] = defaultdict(dict)
    clashes: list[tuple[MessageSite, MessageSite]] = []
    for at in sites.messages:
        key = at.message.api_key
        if key is not None and at.message.kind in kinds:
            earlier = groups[at.message.kind, at.message.log].setdefault(key, at)
            if earlier is not at:
                clashes.append((earlier, at))
    for earlier, at in clashes:
        taken = groups[at.message.kind, at.message.log]
        yield at.finding(
            f"api key {at.message.api_key} is used by two messages of type {at.message.kind.value}",
            _key_span(at),
            f"also the key of `{earlier.message.name}`",
            others=[(_key_span(earlier), "first used here")],
            helps=[f"the next free key is {next(key for key in itertools.count(max(taken)) if key not in taken)}"],
        )


@on_message(
    "K704",
    "api-key-range",
    offending=clock(type="metadata", apiKey=40000),
    corrected=clock(type="metadata", apiKey=4000),
)
def api_key_range(at: MessageSite) -> Iterator[Finding]:
    """An `apiKey` is negative or larger than 32767.

    Api keys travel as int16.
    """
    written = at.decl.api_key
    if written is not None and not 0 <= written.value <= MAX_VERSION:
        yield at.finding(
            f"api key {written.value} of `{at.message.name}` does not fit",
            written.span,
            f"0 to {MAX_VERSION}",
        )


@on_schema(
    "K705",
    "unpaired",
    relaxable=True,
    offending=request(),
    corrected=files(request(), response()),
)
def unpaired(sites: Sites) -> Iterator[Finding]:
    """A request has no response, or a response no request.

    They belong together by their `apiKey`. A client could send the one and not understand the other.
    """
    yield from _without_partner(sites, RPC)


@on_schema(
    "K706",
    "valid-versions-differ",
    offending=files(request(), response(validVersions="0-1")),
    corrected=files(request(), response(validVersions="0-2")),
)
def valid_versions_differ(sites: Sites) -> Iterator[Finding]:
    """A request and its response have different valid versions.

    A response has the version of its request, always.
    """
    for asked, told in _pairs(sites):
        mine, theirs = told.message.valid, asked.message.valid
        settled = not any(one.is_inverted or one.is_open for one in (mine, theirs))
        if settled and mine != theirs:
            yield _disagreement("valid", asked, asked.decl.valid_versions, told, told.decl.valid_versions)


@on_schema(
    "K707",
    "flexible-versions-differ",
    relaxable=True,
    offending=files(request(), response(flexibleVersions="2+")),
    corrected=files(request(), response(flexibleVersions="1+")),
)
def flexible_versions_differ(sites: Sites) -> Iterator[Finding]:
    """A request and its response become flexible in different versions.

    The version of the header follows from it on both sides. Proxies and captures rely on one answer for the pair.
    """
    for asked, told in _pairs(sites):
        shared = asked.message.valid.intersect(told.message.valid)
        if told.message.flexible.intersect(shared) != asked.message.flexible.intersect(shared):
            yield _disagreement("flexible", asked, asked.decl.flexible_versions, told, told.decl.flexible_versions)


@on_schema(
    "K708",
    "coordinator-unpaired",
    offending=clock(type="coordinator-value", apiKey=0, name="ClockValue"),
    corrected=files(
        clock(type="coordinator-key", apiKey=0, name="ClockKey", validVersions="0", flexibleVersions="none"),
        clock(type="coordinator-value", apiKey=0, name="ClockValue"),
    ),
)
def coordinator_unpaired(sites: Sites) -> Iterator[Finding]:
    """A coordinator key has no value, or a value no key.

    The key carries the type of the record; the value is read by what the key says.
    """
    yield from _without_partner(sites, COORDINATOR)


@on_message(
    "K709",
    "coordinator-key-versions",
    offending=files(
        clock(type="coordinator-key", apiKey=0, name="ClockKey"),
        clock(type="coordinator-value", apiKey=0, name="ClockValue"),
    ),
    corrected=files(
        clock(type="coordinator-key", apiKey=0, name="ClockKey", validVersions="0", flexibleVersions="none"),
        clock(type="coordinator-value", apiKey=0, name="ClockValue"),
    ),
)
def coordinator_key_versions(at: MessageSite) -> Iterator[Finding]:
    """A coordinator key has other versions than exactly 0, or is flexible.

    Keys decide which records a compacted log keeps. A key in two forms would be two keys.
    """
    if at.message.kind is not MessageKind.COORDINATOR_KEY:
        return
    valid, flexible = at.decl.valid_versions, at.decl.flexible_versions
    if valid and valid.value != VersionRange(0, 0) and not valid.value.is_inverted:
        yield at.finding(
            f"coordinator key `{at.message.name}` has versions {valid.value}", valid.span, "has to be `0`"
        )
    if flexible and flexible.value:
        yield at.finding(
            f"coordinator key `{at.message.name}` is flexible",
            flexible.span,
            "has to be `none`",
        )


@on_message(
    "K710",
    "listeners-not-request",
    offending=clock(listeners=["broker"]),
    corrected=files(request(listeners=["broker"]), response()),
)
def listeners_not_request(at: MessageSite) -> Iterator[Finding]:
    """A message that is not a request has listeners.

    They say which servers accept the request.
    """
    if at.decl.listeners and at.message.kind is not MessageKind.REQUEST:
        yield at.finding(
            f"`{at.message.name}` is not a request and cannot have `listeners`",
            at.decl.listeners[0].span,
            "only for requests",
            others=[(at.decl.type.span, "its type")],
            helps=["remove `listeners`"],
        )


@on_message(
    "K711",
    "unknown-listener",
    severity=Severity.WARNING,
    relaxable=True,
    offending=files(request(listeners=["brokr"]), response()),
    corrected=files(request(listeners=["broker"]), response()),
)
def unknown_listener(at: MessageSite) -> Iterator[Finding]:
    """A listener is none of broker, controller and zkBroker.

    Kafka's generator knows no others; protocols of one's own may well, hence no error.
    """
    for listener in at.decl.listeners or ():
        if at.message.kind is MessageKind.REQUEST and listener.value not in LISTENERS:
            yield at.finding(
                f"there is no listener `{listener.value}`",
                listener.span,
                "unknown listener",
                helps=[did_you_mean(listener.value, LISTENERS) or f"listeners are {', '.join(LISTENERS)}"],
            )


@on_message(
    "K712",
    "unstable-not-request",
    offending=clock(latestVersionUnstable=True),
    corrected=files(request(latestVersionUnstable=True), response()),
)
def unstable_not_request(at: MessageSite) -> Iterator[Finding]:
    """A message that is not a request has an unstable latest version.

    The attribute is written on the request and holds for its response too.
    """
    written = at.decl.latest_version_unstable
    if written and written.value and at.message.kind is not MessageKind.REQUEST:
        yield at.finding(
            f"`{at.message.name}` is not a request and cannot have `latestVersionUnstable`",
            written.span,
            "only for requests",
            others=[(at.decl.type.span, "its type")],
            helps=["write it on the request" if at.message.kind is MessageKind.RESPONSE else "remove it"],
        )


def _by_key(sites: Sites, kind: MessageKind) -> dict[tuple[str, int], MessageSite]:
    """The first message of each key; others with the same key are K702 and K703."""
    found: dict[tuple[str, int], MessageSite] = {}
    for at in sites.messages:
        if at.message.kind is kind and at.message.api_key is not None:
            found.setdefault((at.message.log, at.message.api_key), at)
    return found


def _pairs(sites: Sites) -> Iterator[tuple[MessageSite, MessageSite]]:
    responses = _by_key(sites, MessageKind.RESPONSE)
    for key, asked in _by_key(sites, MessageKind.REQUEST).items():
        if key in responses:
            yield asked, responses[key]


def _without_partner(sites: Sites, kinds: tuple[MessageKind, MessageKind]) -> Iterator[Finding]:
    for mine, other in (kinds, kinds[::-1]):
        partners = _by_key(sites, other)
        for (place, key), at in _by_key(sites, mine).items():
            if (place, key) not in partners:
                yield at.finding(
                    f"{KEYED[mine]} `{at.message.name}` has no {KEYED[other]}",
                    _key_span(at),
                    f"no {KEYED[other]} with api key {key}",
                    helps=_partner_hint(at, other, partners.values()),
                )


def _partner_hint(at: MessageSite, other: MessageKind, partners: Iterable[MessageSite]) -> list[str]:
    """The message that has the fitting name but another key, if there is one."""
    for partner in partners:
        if _subject(partner.message.name) == _subject(at.message.name):
            return [f"`{partner.message.name}` has api key {partner.message.api_key}"]
    return [f"add the {KEYED[other]}"]


def _subject(name: str) -> str:
    """What a message is about: ``Fetch`` of ``FetchRequest``."""
    return re.sub("(Request|Response|Key|Value)$", "", name)


def _disagreement(
    what: str,
    asked: MessageSite,
    theirs: Spanned[VersionRange] | None,
    told: MessageSite,
    mine: Spanned[VersionRange] | None,
) -> Finding:
    """A range that was not written is ``none`` and pointed at by the name of its message."""
    return told.finding(
        f"`{asked.message.name}` and `{told.message.name}` have different {what} versions",
        (mine or told.decl.name).span,
        f"{mine.value if mine else 'none'} in the response",
        others=[((theirs or asked.decl.name).span, f"{theirs.value if theirs else 'none'} in the request")],
        helps=["write the same for both"],
    )


RULES = (
    missing_api_key,
    duplicate_api_key,
    duplicate_record_id,
    api_key_range,
    unpaired,
    valid_versions_differ,
    flexible_versions_differ,
    coordinator_unpaired,
    coordinator_key_versions,
    listeners_not_request,
    unknown_listener,
    unstable_not_request,
)
