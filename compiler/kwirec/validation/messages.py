"""K7xx: api keys, pairs of messages, listeners and coordinator records."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity, did_you_mean, meant
from kwirec.diagnostics.edits import Fix
from kwirec.diagnostics.examples import clock, files, request, response
from kwirec.diagnostics.source import Span
from kwirec.frontend.edits import renamed, without
from kwirec.frontend.syntax import HeaderVersionsDecl, ranges
from kwirec.ir.schema import MessageKind
from kwirec.ir.sites import MessageSite, Sites
from kwirec.lowering.headers import HIGHEST, derived_header_versions
from kwirec.validation.rule import repeated, rule
from kwirec.versions import MAX_VERSION, VersionRange, in_words

KEYED = {
    MessageKind.REQUEST: "request",
    MessageKind.RESPONSE: "response",
    MessageKind.METADATA: "metadata record",
    MessageKind.COORDINATOR_KEY: "coordinator key",
    MessageKind.COORDINATOR_VALUE: "coordinator value",
}
"""The kinds of messages that need an api key, mapped to the words for them in findings."""

RPC = (MessageKind.REQUEST, MessageKind.RESPONSE)
COORDINATOR = (MessageKind.COORDINATOR_KEY, MessageKind.COORDINATOR_VALUE)
SENT_TO = ("controller", "group", "transaction", "share")
LISTENERS = ("broker", "controller", "zkBroker")


def _key_span(at: MessageSite) -> Span:
    return at.decl.api_key.span if at.decl.api_key else at.decl.name.span


@rule(
    "K701",
    offending=clock(type="metadata"),
    corrected=clock(type="metadata", apiKey=0),
)
def missing_api_key(at: MessageSite) -> Iterator[Finding]:
    """A request, response, metadata record or coordinator record has no `apiKey`.

    Readers identify the message by this number.
    """
    if at.decl.api_key is None and at.message.kind in KEYED:
        yield at.finding(
            f"{KEYED[at.message.kind]} `{at.message.name}` has no `apiKey`",
            at.decl.name.span,
            "needs `apiKey`",
            others=[(at.decl.type.span, "required for this type")],
            helps=["add `apiKey`"],
        )


@rule(
    "K702",
    offending=files(request(), response(), request(name="AlarmRequest"), response(name="AlarmResponse")),
    corrected=files(
        request(), response(), request(name="AlarmRequest", apiKey=901), response(name="AlarmResponse", apiKey=901)
    ),
)
def duplicate_api_key(sites: Sites) -> Iterator[Finding]:
    """Two requests, or two responses, have the same `apiKey`.

    Peers identify a request only by the `apiKey` in its header.
    """
    yield from _same_key(sites, RPC)


@rule(
    "K703",
    relaxable=True,
    offending=files(clock(type="metadata", apiKey=0), clock(type="metadata", apiKey=0, name="Alarm")),
    corrected=files(clock(type="metadata", apiKey=0), clock(type="metadata", apiKey=1, name="Alarm")),
)
def duplicate_record_id(sites: Sites) -> Iterator[Finding]:
    """Two metadata records, coordinator keys or coordinator values of one log have the same `apiKey`.

    A record is identified by the number at its beginning. Each log has its own numbers, and the definitions in one
    folder belong to one log. A union of releases can contain a number twice if its meaning changed between releases.
    Waive such findings and give the reason.
    """
    yield from _same_key(sites, (MessageKind.METADATA, *COORDINATOR))


def _same_key(sites: Sites, kinds: Collection[MessageKind]) -> Iterator[Finding]:
    for kind in kinds:
        keyed = [at for at in sites if at.message.kind is kind and at.message.api_key is not None]
        for first, at in repeated(keyed, lambda at: (at.message.log, at.message.api_key)):
            highest = max(other.message.api_key or 0 for other in keyed if other.message.log == at.message.log)
            yield at.finding(
                f"api key {at.message.api_key} is used by two messages of type {kind.value}",
                _key_span(at),
                f"also the key of `{first.message.name}`",
                others=[(_key_span(first), "first used here")],
                helps=[f"the next free key is {highest + 1}"],
            )


@rule(
    "K704",
    offending=clock(type="metadata", apiKey=40000),
    corrected=clock(type="metadata", apiKey=4000),
)
def api_key_range(at: MessageSite) -> Iterator[Finding]:
    """An `apiKey` is negative or greater than 32767.

    Api keys are encoded as int16.
    """
    written = at.decl.api_key
    if written is not None and not 0 <= written.value <= MAX_VERSION:
        yield at.finding(
            f"api key {written.value} of `{at.message.name}` is out of range",
            written.span,
            f"expected 0 to {MAX_VERSION}",
        )


@rule(
    "K705",
    relaxable=True,
    offending=request(),
    corrected=files(request(), response()),
)
def unpaired(sites: Sites) -> Iterator[Finding]:
    """A request has no response, or a response has no request.

    Requests and responses are paired by `apiKey`. Without the response, a client could send the request but not read
    the answer.
    """
    yield from _without_partner(sites, RPC)


@rule(
    "K706",
    offending=files(request(), response(validVersions="0-1")),
    corrected=files(request(), response(validVersions="0-2")),
)
def valid_versions_differ(sites: Sites) -> Iterator[Finding]:
    """A request and its response have different valid versions.

    A response always has the same version as its request.
    """
    for request_, response_ in _pairs(sites):
        ranges = request_.message.valid, response_.message.valid
        well_formed = not any(versions.is_inverted or versions.is_open for versions in ranges)
        if well_formed and ranges[0] != ranges[1]:
            yield _disagreement("valid", request_, response_)


@rule(
    "K707",
    relaxable=True,
    offending=files(request(), response(flexibleVersions="2+")),
    corrected=files(request(), response(flexibleVersions="1+")),
)
def flexible_versions_differ(sites: Sites) -> Iterator[Finding]:
    """A request and its response become flexible in different versions.

    Flexible versions determine header versions, and readers of traffic expect a request and its response to agree.
    """
    for request_, response_ in _pairs(sites):
        shared = request_.message.valid.intersect(response_.message.valid)
        if request_.message.flexible.intersect(shared) != response_.message.flexible.intersect(shared):
            yield _disagreement("flexible", request_, response_)


@rule(
    "K708",
    offending=clock(type="coordinator-value", apiKey=0, name="ClockValue"),
    corrected=files(
        clock(type="coordinator-key", apiKey=0, name="ClockKey", validVersions="0", flexibleVersions="none"),
        clock(type="coordinator-value", apiKey=0, name="ClockValue"),
    ),
)
def coordinator_unpaired(sites: Sites) -> Iterator[Finding]:
    """A coordinator key has no value, or a coordinator value has no key.

    The key contains the type of the record, which determines how the value is read.
    """
    yield from _without_partner(sites, COORDINATOR)


@rule(
    "K709",
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
    """A coordinator key has versions other than 0, or is flexible.

    Log compaction compares the bytes of keys, so the same key must not have two encodings.
    """
    if at.message.kind is not MessageKind.COORDINATOR_KEY:
        return
    valid, flexible = at.decl.valid_versions, at.decl.flexible_versions
    if valid and valid.value != VersionRange(0, 0) and not valid.value.is_inverted:
        yield at.finding(f"coordinator key `{at.message.name}` has versions {valid.value}", valid.span, "must be `0`")
    if flexible and flexible.value:
        yield at.finding(f"coordinator key `{at.message.name}` is flexible", flexible.span, "must be `none`")


@rule(
    "K710",
    offending=clock(listeners=["broker"]),
    corrected=files(request(listeners=["broker"]), response()),
    fixable=True,
)
def listeners_not_request(at: MessageSite) -> Iterator[Finding]:
    """A message that is not a request has listeners.

    Listeners are the kinds of servers that accept a request.
    """
    if at.decl.listeners and at.message.kind is not MessageKind.REQUEST:
        span = at.decl.listeners[0].span
        yield _not_a_request(at, "listeners", span, "remove `listeners`", without(span, at.dialect))


@rule(
    "K711",
    severity=Severity.WARNING,
    offending=files(request(listeners=["brokr"]), response()),
    corrected=files(request(listeners=["broker"]), response()),
    fixable=True,
)
def unknown_listener(at: MessageSite) -> Iterator[Finding]:
    """A listener is not broker, controller or zkBroker.

    Kafka's generator accepts only these. This is only a warning because other protocols can have their own listeners.
    """
    for listener in at.decl.listeners or ():
        if at.message.kind is MessageKind.REQUEST and listener.value not in LISTENERS:
            yield at.finding(
                f"unknown listener `{listener.value}`",
                listener.span,
                "does not exist",
                helps=[did_you_mean(listener.value, LISTENERS) or f"listeners are {', '.join(LISTENERS)}"],
                fix=renamed(listener.span, listener.value, meant(listener.value, LISTENERS)),
            )


@rule(
    "K712",
    offending=clock(latestVersionUnstable=True),
    corrected=files(request(latestVersionUnstable=True), response()),
    fixable=True,
)
def unstable_not_request(at: MessageSite) -> Iterator[Finding]:
    """A message that is not a request has `latestVersionUnstable`.

    The attribute of a request also applies to its response.
    """
    written = at.decl.latest_version_unstable
    if written and written.value and at.message.kind is not MessageKind.REQUEST:
        is_response = at.message.kind is MessageKind.RESPONSE
        help, fix = (
            ("move it to the request", ()) if is_response else ("remove it", without(written.span, at.dialect))
        )
        yield _not_a_request(at, "latestVersionUnstable", written.span, help, fix)


@rule(
    "K713",
    offending=clock(headerVersions={"0+": "1"}),
    corrected=clock(),
    fixable=True,
)
def header_versions_not_rpc(at: MessageSite) -> Iterator[Finding]:
    """A message that is neither a request nor a response has `headerVersions`.

    Only requests and responses are sent after a header.
    """
    if at.decl.header_versions and at.message.kind not in RPC:
        yield at.finding(
            f"`{at.message.name}` has no header and cannot have `headerVersions`",
            at.decl.header_versions[0].span,
            "only for requests and responses",
            others=[(at.decl.type.span, "its type")],
            helps=["remove `headerVersions`"],
            fix=without(at.decl.header_versions[0].span, at.dialect),
        )


@rule(
    "K714",
    offending=files(request(headerVersions={"0": "1", "2+": "2"}), response()),
    corrected=files(request(headerVersions={"0": "1", "1+": "2"}), response()),
)
def header_versions_incomplete(at: MessageSite) -> Iterator[Finding]:
    """The ranges of `headerVersions` omit a valid version, or contain a version twice.

    Each message version has exactly one header version, which both peers must know in advance.
    """
    entries, valid = at.decl.header_versions, at.message.valid
    if entries is None or not at.message.is_rpc or valid.is_open:
        return
    found, twice = _by_version(at)
    if twice is not None:
        version, entry = twice
        yield at.finding(
            f"`headerVersions` of `{at.message.name}` contains version {version} twice",
            entry.versions.span,
            "contained again here",
            others=[(found[version].versions.span, "first contained here")],
        )
    elif missing := [version for version in valid if version not in found]:
        yield at.finding(
            f"`headerVersions` of `{at.message.name}` leaves out {in_words(missing)}",
            entries[-1].span if entries else at.decl.name.span,
            "the last range" if entries else "has no ranges",
            others=at.valid_label,
        )


def _by_version(at: MessageSite) -> tuple[dict[int, HeaderVersionsDecl], tuple[int, HeaderVersionsDecl] | None]:
    """Return the entry of ``headerVersions`` for each valid version, up to the first version with two entries.

    Also return this version and its second entry.
    """
    found: dict[int, HeaderVersionsDecl] = {}
    for entry in at.decl.header_versions or ():
        for version in entry.versions.value.intersect(at.message.valid):
            if version in found:
                return found, (version, entry)
            found[version] = entry
    return found, None


@rule(
    "K715",
    offending=files(request(headerVersions={"0": "1", "1+": "7"}), response()),
    corrected=files(request(headerVersions={"0": "1", "1+": "2"}), response()),
)
def unknown_header_version(at: MessageSite) -> Iterator[Finding]:
    """`headerVersions` contains a header version that does not exist.

    Generated code reads and writes request headers of versions 0, 1 and 2, and response headers of versions 0 and 1.
    """
    highest = HIGHEST.get(at.message.kind)
    for entry in at.decl.header_versions or ():
        if highest is not None and not 0 <= entry.header.value <= highest:
            yield at.finding(
                f"{at.message.kind.value} header {entry.header.value} of `{at.message.name}` is unknown",
                entry.header.span,
                f"expected 0 to {highest}",
            )


@rule(
    "K716",
    severity=Severity.WARNING,
    offending=files(request(headerVersions={"0+": "1"}), response()),
    corrected=files(request(headerVersions={"0": "1", "1+": "2"}), response()),
)
def header_versions_unusual(at: MessageSite) -> Iterator[Finding]:
    """`headerVersions` differs from the header versions that Kafka uses.

    Without `headerVersions`, a request has header 2 in flexible versions and header 1 otherwise. A response has
    header 1 in flexible versions and header 0 otherwise, but ApiVersionsResponse always has header 0. Peers that
    expect these headers could not read the message.
    """
    if at.message.valid.is_open:
        return
    derived = derived_header_versions(at.message)
    unusual: dict[int, list[int]] = {}
    found, _ = _by_version(at)
    for version, entry in found.items():
        known = entry.header.value in range(HIGHEST.get(at.message.kind, -1) + 1)
        if known and derived.get(version, entry.header.value) != entry.header.value:
            unusual.setdefault(entry.header.span.start, []).append(version)
    for versions in unusual.values():
        given, usual = found[versions[0]].header, derived[versions[0]]
        yield at.finding(
            f"the header of `{at.message.name}` in {in_words(versions)} is usually {usual}, not {given.value}",
            given.span,
            "another header version",
            others=[(flexible.span, "the flexible versions")] if (flexible := at.decl.flexible_versions) else (),
        )


@rule(
    "K717",
    offending=files(request(sentTo="admin"), response()),
    corrected=files(request(sentTo="controller"), response()),
    fixable=True,
)
def sent_to(at: MessageSite) -> Iterator[Finding]:
    """A request has a `sentTo` other than controller, group, transaction or share, or another message has `sentTo`.

    The attribute names the broker that must receive the request: the controller, or the coordinator of a group, a
    transaction or a share group.
    """
    written = at.decl.sent_to
    if written is None:
        return
    if at.message.kind is not MessageKind.REQUEST:
        yield _not_a_request(at, "sentTo", written.span, fix=without(written.span, at.dialect))
    elif written.value not in SENT_TO:
        helps = [did_you_mean(written.value, SENT_TO) or f"receivers are {', '.join(SENT_TO)}"]
        what, fix = f"`{at.message.name}` is sent to an unknown receiver", renamed(
            written.span, written.value, meant(written.value, SENT_TO)
        )
        yield at.finding(what, written.span, "does not exist", helps=helps, fix=fix)


def _not_a_request(at: MessageSite, attribute: str, span: Span, help: str = "", fix: Fix = ()) -> Finding:
    text, others = f"`{at.message.name}` is not a request and cannot have `{attribute}`", [
        (at.decl.type.span, "its type")
    ]
    return at.finding(text, span, "only for requests", others=others, helps=[help], fix=fix)


def _by_key(sites: Sites, kind: MessageKind) -> dict[tuple[str, int], MessageSite]:
    """Return the first message with each key. K702 and K703 report other messages with the same key."""
    found: dict[tuple[str, int], MessageSite] = {}
    for at in sites:
        if at.message.kind is kind and at.message.api_key is not None:
            found.setdefault((at.message.log, at.message.api_key), at)
    return found


def _pairs(sites: Sites) -> Iterator[tuple[MessageSite, MessageSite]]:
    responses = _by_key(sites, MessageKind.RESPONSE)
    for key, request_ in _by_key(sites, MessageKind.REQUEST).items():
        if key in responses:
            yield request_, responses[key]


def _without_partner(sites: Sites, kinds: tuple[MessageKind, MessageKind]) -> Iterator[Finding]:
    for mine, other in (kinds, kinds[::-1]):
        partners = _by_key(sites, other)
        for (log, key), at in _by_key(sites, mine).items():
            if (log, key) not in partners:
                yield at.finding(
                    f"{KEYED[mine]} `{at.message.name}` has no {KEYED[other]}",
                    _key_span(at),
                    f"no {KEYED[other]} with api key {key}",
                    helps=_partner_hint(at, other, partners.values()),
                )


def _partner_hint(at: MessageSite, other: MessageKind, partners: Iterable[MessageSite]) -> list[str]:
    """Return a help text that names a message with a matching name but another key. If there is none, suggest adding
    a message.
    """
    for partner in partners:
        if _subject(partner.message.name) == _subject(at.message.name):
            return [f"`{partner.message.name}` has api key {partner.message.api_key}"]
    return [f"add the {KEYED[other]}"]


def _subject(name: str) -> str:
    """Return a message name without its suffix, such as ``Fetch`` for ``FetchRequest``."""
    return re.sub("(Request|Response|Key|Value)$", "", name)


def _disagreement(kind: str, request_: MessageSite, response_: MessageSite) -> Finding:
    """Return a finding about differing version ranges. If a message does not state its range, the finding points at
    the name of the message.
    """
    asked, answered = (dict(ranges(site.decl)).get(f"{kind}Versions") for site in (request_, response_))
    return response_.finding(
        f"`{request_.message.name}` and `{response_.message.name}` have different {kind} versions",
        (answered or response_.decl.name).span,
        f"{answered.value if answered else 'none'} in the response",
        others=[((asked or request_.decl.name).span, f"{asked.value if asked else 'none'} in the request")],
        helps=["use the same versions for both"],
    )
