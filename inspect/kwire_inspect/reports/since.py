"""Changes since an earlier run: clients that are new or gone, and clients whose verdict or software changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_inspect.reports.client_usage import Client, Use, grouped
from kwire_inspect.reports.judgement import Judgement
from kwire_inspect.reports.release_support import REFUSED, SEVERITY
from kwire_inspect.reports.report import Column, Report, Table
from kwire_inspect.reports.text import counted
from kwire_inspect.reports.verdict_tables import MARKS, TARGET

if TYPE_CHECKING:
    from kwire.releases import Releases

NEW, GONE, WORSE, BETTER, OTHER = "new", "gone", "worse", "better", "other software"
ORDER = (WORSE, NEW, BETTER, GONE, OTHER)
CHANGE_MARKS = {WORSE: "bad", BETTER: "good"}

CHANGES = Table(
    "changes",
    "Since the earlier run",
    note="Clients are compared by id, because addresses change. Clients without an id are compared by address.",
    empty="Nothing changed.",
).with_columns(
    Column("client_id", "client"),
    TARGET,
    Column("change", mark=CHANGE_MARKS),
    Column("before", mark=MARKS),
    Column("now", mark=MARKS),
    Column("software_before", "software before"),
    Column("software", "software now"),
    "requests",
)


Row = dict[str, Any]


class _State(NamedTuple):
    """Worst verdict, software and number of requests of all clients with the same id."""

    verdict: str
    software: tuple[str, ...]
    requests: int


def with_changes(
    report: Report, judgements: Sequence[Judgement], before: Iterable[Use], releases: Releases
) -> Report:
    """Return the report with a table and a sentence on the changes since ``before``, the uses of an earlier run.

    The earlier run is judged against the same targets, so all changes are due to clients and not to releases.
    """
    before = list(before)
    rows = [row for now in judgements for row in _changes(Judgement.of(before, now.target, releases), now)]
    rows.sort(key=lambda row: (ORDER.index(row["change"]), row["client_id"], row["target"]))
    table = CHANGES.with_rows(rows)
    return replace(report, summary=(*report.summary, _sentence(rows)), tables=(table, *report.tables))


def _sentence(rows: Sequence[Row]) -> str:
    newly = {row["client_id"] for row in rows if row["now"] == REFUSED != row["before"]}
    no_longer = {row["client_id"] for row in rows if row["before"] == REFUSED != row["now"]}
    return (
        f"Since the earlier run: {counted(len(newly), 'client')} newly refused, "
        f'{len(no_longer):,} no longer refused. See "{CHANGES.title}".'
    )


def _changes(before: Judgement, now: Judgement) -> Iterator[Row]:
    old, new = _states(before), _states(now)
    for name in dict.fromkeys((*new, *old)):
        was, then = old.get(name), new.get(name)
        if change := _change(was, then):
            yield {
                "client_id": name,
                "target": now.target.name,
                "change": change,
                "before": was and was.verdict,
                "now": then and then.verdict,
                "software_before": was.software if was else (),
                "software": then.software if then else (),
                "requests": then.requests if then else 0,
            }


def _change(was: _State | None, now: _State | None) -> str | None:
    if was is None or now is None:
        return GONE if now is None else NEW
    if was.verdict != now.verdict:
        return WORSE if SEVERITY[now.verdict] > SEVERITY[was.verdict] else BETTER
    return OTHER if was.software != now.software else None


def _states(judgement: Judgement) -> dict[str, _State]:
    by_name = grouped(judgement.by_client().items(), lambda pair: _name(pair[0]))
    return {
        name: _State(
            max((verdicts[0][1].state for _, verdicts in group), key=SEVERITY.__getitem__),
            tuple(sorted({client.software for client, _ in group if client.software})),
            sum(use.requests for _, verdicts in group for use, _ in verdicts),
        )
        for name, group in by_name.items()
    }


def _name(client: Client) -> str:
    return client.client_id or str(client)
