"""Merges a release into the union: ``kwirec merge --release 4.1.1 SOURCE --into message_defs/kafka``.

The steps are: read both → pair messages → let the newer release win where bytes differ → join → format → read back →
prove → write. Files are written only if the proof succeeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kwirec.diagnostics.diagnostic import Report, Severity
from kwirec.diagnostics.reading import read_sources
from kwirec.diagnostics.source import Source
from kwirec.files import holds, locked, replace_files
from kwirec.frontend import Document, parse
from kwirec.ir import Message, MessageKind, Schema, resolve
from kwirec.ir.schema import name_overlap
from kwirec.lowering import Layouts, lower
from kwirec.merge.align import align
from kwirec.merge.draft import MessageDraft, draft_of
from kwirec.merge.history import ApiFacts, ExceptionEntry, History, history_files, read_history, release_key, spans
from kwirec.merge.join import join
from kwirec.merge.proof import Proof, grew_by_tags, prove
from kwirec.merge.writer import definition_text
from kwirec.validation import validate_before
from kwirec.validation.types import recursive_struct
from kwirec.versions import VersionRange

FOLDERS = {
    MessageKind.REQUEST: "apis",
    MessageKind.RESPONSE: "apis",
    MessageKind.HEADER: "headers",
    MessageKind.DATA: "data",
    MessageKind.METADATA: "metadata",
    MessageKind.COORDINATOR_KEY: "coordinators",
    MessageKind.COORDINATOR_VALUE: "coordinators",
}
"""The folders for files of new messages. Files can be moved, because messages are not identified by path."""


@dataclass
class MergeOutcome:
    """The result of a merge. ``written`` is empty if the merge failed."""

    release: str
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    proof: Proof | None = None
    written: list[Path] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return self.proof is None or bool(self.conflicts) or bool(self.proof.mismatches)


def merge(
    root: Path, release: str, paths: Sequence[Path], report: Report, *, incomplete: bool = False
) -> MergeOutcome:
    """Merge the definitions under ``paths`` into the union in ``root`` and add the findings to ``report``.

    If the release is ``incomplete``, some of its modules were not published. Messages of the previous release that
    are missing from ``paths`` are then recorded as not published.
    """
    outcome = MergeOutcome(release)
    incoming = _load(paths, report)
    union = _load([root], report, required=False) if root.exists() else Schema(messages=())
    if report.has_errors():
        return outcome
    merger = _Merger(union, incoming, release, read_history(root), outcome)
    texts = merger.run(root)
    merger.check_nothing_is_lost()
    if incomplete:
        merger.note_unpublished()
    before = {Path(message.decl.span.source.name) for message in union.messages}
    outcome.conflicts += _misplaced(root, sorted(before | texts.keys()))
    if outcome.conflicts:
        return outcome
    enums = {enum.decl.span.source for enum in union.enums}
    documents = [parse(Source(str(path), text), report) for path, text in texts.items()]
    documents += [Document(source=source, enums=parse(source, report).enums) for source in enums]
    result = resolve(documents, report)
    if not report.has_errors():
        _check(result, report)
    if report.has_errors():
        return outcome
    outcome.proof = prove(result, lower(result), merger.history)
    if outcome.failed:
        return outcome
    _write(root, texts, union, merger.history, outcome)
    return outcome


def _load(paths: Iterable[Path], report: Report, *, required: bool = True) -> Schema:
    schema = resolve([parse(source, report) for source in read_sources(paths, report, required=required)], report)
    if not report.has_errors():
        # Names become file names, and layouts of recursive structs would have no end.
        validate_before("K3", schema, report, also=[recursive_struct.code])
    return schema


def _check(union: Schema, report: Report) -> None:
    """Report the errors that `kwirec check` would find in the new union.

    Warnings, such as missing field descriptions, do not prevent a merge. Requests without responses do not prevent it
    either, because requests and responses may be merged separately.
    """
    findings = Report()
    validate_before("K7", union, findings)
    for diagnostic in findings.diagnostics:
        if diagnostic.severity is Severity.ERROR:
            report.merge(diagnostic)


def _misplaced(root: Path, paths: Iterable[Path]) -> Iterator[str]:
    """Yield a problem for each path that is in an archive, is a bundle, or links to a file outside the union."""
    for path in paths:
        if path.suffix != ".json" or not path.resolve().is_relative_to(root.resolve()):
            yield f"{path.as_posix()} is not a file for one definition in {root.as_posix()}"


def _write(root: Path, texts: dict[Path, str], union: Schema, history: History, outcome: MergeOutcome) -> None:
    with locked(root):
        gone = {Path(message.decl.span.source.name) for message in union.messages} - texts.keys()
        outcome.written += (path for path, text in texts.items() if not holds(path, text))
        changed = {path.relative_to(root).as_posix(): texts[path] for path in outcome.written}
        replace_files(root, changed | history_files(history), [path.relative_to(root).as_posix() for path in gone])


def _stripped(message: Message) -> MessageDraft:
    """Return the draft of an incoming message without facts that only the union defines, such as descriptions."""
    draft = draft_of(message)
    for struct in draft.structs.values():
        struct.doc, struct.comments = "", ()
        struct.fields = [
            replace(inner, doc="", aliases=(), since=None, enum=None, comments=()) for inner in struct.fields
        ]
    return replace(draft, doc="", comment="", comments=(), aliases=())


class _Merger:
    def __init__(
        self, union: Schema, incoming: Schema, release: str, history: History, outcome: MergeOutcome
    ) -> None:
        self._union = union
        self._incoming = incoming
        self._union_layouts: Layouts = lower(union)
        self._layouts: Layouts = lower(incoming)
        self._release = release
        self._outcome = outcome
        self.history = history
        self._known = dict(history.releases.get(release, {}))
        self._evidence = history.evidence_of(release)
        history.forget(release)
        merged = history.merged
        self._newest = not merged or release_key(release) > release_key(merged[-1])

    def check_nothing_is_lost(self) -> None:
        """Check that merging a release again with fewer modules does not lose facts about its other modules."""
        lost = sorted({message for message, _ in self._evidence - self.history.evidence_of(self._release)})
        if lost:
            shown = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
            self._outcome.conflicts.append(
                f"{self._release} was merged with {shown}, which SOURCE lacks: pass the sources of all modules"
            )

    def note_unpublished(self) -> None:
        """Record which messages of the previous release are missing because their modules were not published."""
        at = release_key(self._release)
        before = max((r for r in self.history.merged if release_key(r) < at), key=release_key, default=None)
        there = {message for message, _ in self.history.evidence_of(self._release)}
        known = {message for message, _ in self.history.evidence_of(before)} if before else set()
        known.update(self.history.unpublished.get(before or "", ()))
        if lacking := sorted(known - there):
            self.history.unpublished[self._release] = lacking

    def run(self, root: Path) -> dict[Path, str]:
        """Return the text of each definition file in the new union, by path."""
        texts: dict[Path, str] = {}
        partners = [(theirs, self._partner(theirs)) for theirs in self._incoming.messages]
        incoming = {ours.name: theirs for theirs, ours in partners if ours is not None}
        for message in self._union.messages:
            path = Path(message.decl.span.source.name)
            theirs = incoming.get(message.name)
            if theirs is None:
                texts[path] = message.decl.span.source.text
                continue
            draft = self._merged(message, theirs)
            # A file in the default folder of a message kind moves if the kind changes.
            unmoved = path.parent == root / FOLDERS[message.kind]
            folder = root / FOLDERS[draft.kind] if unmoved else path.parent
            texts[folder / f"{draft.name}.json"] = self._text(draft, message)
        for message, partner in partners:
            if partner is None:
                draft = _stripped(message)
                texts[root / FOLDERS[message.kind] / f"{draft.name}.json"] = self._text(draft, None)
                self._outcome.added.append(draft.name)
            self._record(message, message.name if self._newest or partner is None else partner.name)
        return texts

    def _text(self, draft: MessageDraft, before: Message | None) -> str:
        try:
            text = definition_text(draft)
        except ValueError as problem:
            self._outcome.conflicts.append(f"{draft.name}: {problem}, which a version range cannot express")
            return "" if before is None else before.decl.span.source.text
        if before is not None and text != before.decl.span.source.text:
            self._outcome.changed.append(draft.name)
        return text

    def _partner(self, message: Message) -> Message | None:
        """Return the union's counterpart of ``message``, or ``None``.

        Requests and responses are matched by api key, and other messages by their present or former names.
        """
        if message.is_rpc:
            same = (m for m in self._union.messages if (m.kind, m.api_key) == (message.kind, message.api_key))
            return next(same, None)
        others = [m for m in self._union.messages if not m.is_rpc]
        named = (m for m in others if m.name == message.name or message.name in m.aliases)
        return next(named, None) or next((m for m in others if self._is_renamed(m, message)), None)

    def _is_renamed(self, ours: Message, theirs: Message) -> bool:
        """Return whether a record was renamed.

        A record was renamed if both records have the same number, most of their field names are equal, and neither
        name exists on the other side. An equal number is not sufficient, because different logs use the same numbers.
        """
        if ours.api_key is None or (ours.kind, ours.api_key) != (theirs.kind, theirs.api_key):
            return False
        if self._incoming.message(ours.name) is not None or self._union.message(theirs.name) is not None:
            return False
        return name_overlap(ours.root.fields, theirs.root.fields) > 0.5

    def _merged(self, ours: Message, theirs: Message) -> MessageDraft:
        mine, incoming = draft_of(ours), _stripped(theirs)
        mine, incoming = self._renumber(ours, theirs, mine, incoming)
        mine, incoming = self._settle(ours, theirs, mine, incoming)
        self._earlier_tags(mine, incoming)
        # A version is deprecated if the newest release with this version deprecates it.
        decides = frozenset(v for v in incoming.valid if self._is_newest_with(ours.name, v))
        deprecated = (incoming.deprecated & decides) | (mine.deprecated - decides)
        if self._newest:
            draft, conflicts = join(incoming, mine, lambda grown: self._release)
            self.history.rename(ours.name, theirs.name)
        else:
            draft, conflicts = join(mine, incoming, lambda grown: self._first_with(ours.name, grown))
        self._outcome.conflicts += [f"{draft.name}: {conflict}" for conflict in conflicts]
        return replace(draft, comment=mine.comment, comments=mine.comments, doc=mine.doc, deprecated=deprecated)

    def _renumber(
        self, ours: Message, theirs: Message, mine: MessageDraft, incoming: MessageDraft
    ) -> tuple[MessageDraft, MessageDraft]:
        """Return both drafts, with coordinator keys from before Kafka 4.1 renumbered.

        Kafka 4.1 turned the version numbers of these keys into record types, and all keys became version 0.
        """
        old = self._union_layouts.by_message[ours.name].values()
        new = self._layouts.by_message[theirs.name].values()
        if {ours.kind, theirs.kind} != {MessageKind.DATA, MessageKind.COORDINATOR_KEY} or {*old} != {*new}:
            return mine, incoming
        if ours.kind is MessageKind.DATA:
            self._except(ours, theirs, mine.valid - {0}, now=0)
            return mine.renumbered(0), incoming
        self._except(ours, theirs, incoming.valid - {0}, [self._release], now=0)
        return mine, incoming.renumbered(0)

    def _settle(
        self, ours: Message, theirs: Message, mine: MessageDraft, incoming: MessageDraft
    ) -> tuple[MessageDraft, MessageDraft]:
        """Return both drafts. A version whose bytes differ is removed from the draft of the older release."""
        mine_lose: set[int] = set()
        theirs_lose: set[int] = set()
        for version in mine.valid & incoming.valid:
            old = self._union_layouts.by_message[ours.name].get(version)
            new = self._layouts.by_message[theirs.name].get(version)
            if old is None or new is None or old.fingerprint == new.fingerprint:
                continue
            newer = self._is_newest_with(ours.name, version)
            if not grew_by_tags(*((old, new) if newer else (new, old))):
                (mine_lose if newer else theirs_lose).add(version)
        if mine_lose:
            self._except(ours, theirs, mine_lose)
            mine = mine.limited_to(mine.valid - mine_lose)
        if theirs_lose:
            self._except(ours, theirs, theirs_lose, [self._release])
            incoming = incoming.limited_to(incoming.valid - theirs_lose)
        return mine, incoming

    def _is_newest_with(self, name: str, version: int) -> bool:
        """Return whether the incoming release is newer than all merged releases with this message version."""
        return all(release_key(r) < release_key(self._release) for r in self.history.prints(name, version))

    def _except(
        self,
        ours: Message,
        theirs: Message,
        versions: Iterable[int],
        releases: Iterable[str] | None = None,
        *,
        now: int | None = None,
    ) -> None:
        """Record versions as exceptions in ``releases``, or by default in all merged releases with different bytes.

        Existing exceptions do not change.
        """
        name = theirs.name if self._newest else ours.name
        for version in sorted(versions):
            entries = [e for e in self.history.exceptions if e.message in (ours.name, name) and e.version == version]
            listed = {release for entry in entries for release in entry.releases}
            having = set(self._with_other_bytes(ours.name, theirs, version) if releases is None else releases)
            same = [entry for entry in entries if entry.now == now]
            if releases is not None and (known := self._with_equal_bytes(same, ours.name, theirs, version)):
                known.releases += having - listed
            elif fresh := sorted(having - listed, key=release_key):
                self.history.exceptions.append(ExceptionEntry(name, version, fresh, now, ""))
                moved = f", now version {now}" if now is not None else ""
                where = spans(fresh, sorted({*self.history.merged, self._release}, key=release_key))
                self._outcome.notes.append(
                    f"{name} version {version}: different bytes in {where}{moved}. Add the reason to exceptions.json"
                )

    def _with_other_bytes(self, name: str, theirs: Message, version: int) -> Iterator[str]:
        """Yield the merged releases with different bytes for a version, or all if this release lacks the version."""
        own = self._layouts.by_message[theirs.name].get(version)
        for release, fingerprint in self.history.prints(name, version).items():
            if own is None or fingerprint != own.fingerprint:
                yield release

    def _with_equal_bytes(
        self, entries: Iterable[ExceptionEntry], name: str, theirs: Message, version: int
    ) -> ExceptionEntry | None:
        """Return the exception for releases with the same bytes as this release, so that they share a reason."""
        own, prints = self._layouts.by_message[theirs.name][version].fingerprint, self.history.prints(name, version)
        return next((entry for entry in entries if any(prints.get(r) == own for r in entry.releases)), None)

    def _first_with(self, name: str, versions: frozenset[int]) -> str:
        """Return the first later release that has any of these versions."""
        releases = {release for version in versions for release in self.history.prints(name, version)}
        return min((r for r in releases if release_key(r) > release_key(self._release)), key=release_key)

    def _earlier_tags(self, mine: MessageDraft, incoming: MessageDraft) -> None:
        """Set ``since`` of tagged fields to this release if the release already has the fields and is older than
        ``since``.
        """
        if self._newest:
            return
        for my_name, their_name in align(mine, incoming).structs:
            fields, theirs = mine.structs[my_name].fields, incoming.structs[their_name].fields
            for index, one in enumerate(fields):
                if one.since is not None and release_key(one.since) > release_key(self._release):
                    if any(f.tag == one.tag and f.tagged & one.tagged for f in theirs):
                        fields[index] = replace(one, since=self._release)

    def _record(self, message: Message, name: str) -> None:
        """Record the layouts and facts of a message in this release under its name in the union."""
        for version, layout in self._layouts.by_message[message.name].items():
            self.history.record_layout(name, version, layout.fingerprint, self._release)
        if message.kind is MessageKind.REQUEST and message.api_key is not None and message.valid:
            facts = ApiFacts(
                name=message.name.removesuffix("Request"),
                accepts=str(message.valid),
                deprecated=str(message.deprecated) if message.deprecated else None,
                unstable=str(message.valid.high) if message.latest_unstable else None,
                listeners=message.listeners,
                advertises=self._advertised(message.api_key, message.valid),
            )
            self.history.releases.setdefault(self._release, {})[message.api_key] = facts

    def _advertised(self, api_key: int, accepts: VersionRange) -> str | None:
        """Return the range that the release advertises for an API, or ``None`` if it equals the accepted range.

        Definitions do not contain advertised versions, so recorded ranges are kept. Otherwise, the range is derived
        from a neighbouring release, which is one of the same line or else the previous release [KAFKA-18659].
        """
        if (known := self._known.get(api_key)) is not None:
            return known.advertises
        at = release_key(self._release)
        before = max((r for r in self.history.releases if release_key(r) < at), key=release_key, default=None)
        line = (r for r in self.history.releases if release_key(r)[:2] == at[:2] and r != self._release)
        neighbour = max(line, key=release_key, default=before)
        if neighbour is None:
            return None
        facts = self.history.releases[neighbour].get(api_key)
        if facts is None or facts.advertises is None:
            return None
        if facts.advertises == "none":
            self._outcome.notes.append(f"{facts.name}: assumed not to be advertised, as in {neighbour}")
            return "none"
        low = VersionRange.parse(facts.advertises).low
        if low >= accepts.low:
            return None
        self._outcome.notes.append(f"{facts.name}: assumed to be advertised from version {low}, as in {neighbour}")
        return str(VersionRange(low, accepts.high))
