"""``kwire-spark offsets``: groups, members, committed offsets and transactions from a data directory."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kwire_spark.command.common import Run, problems
from kwire_spark.command.common import command as shared
from kwire_spark.options import OptionError, Options

if TYPE_CHECKING:
    from kwire.logs import LogSegment


@click.command("offsets")
@shared()
def command(run: Run) -> int:
    """Groups with members, committed offsets and lag, from the internal topics of brokers' data directories."""
    from kwire_spark.reports.offsets import log_ends, offsets
    from kwire_spark.state.replay import COLUMNS
    from kwire_spark.tables.groups import INTERNAL
    from kwire_spark.tables.read import records

    _check(run)
    place = ("source", "position", "topic", "partition", "offset", "_corrupt")
    names = tuple(dict.fromkeys((*COLUMNS, *place)))
    states = records(
        run.inputs, columns=names, spark=run.spark, **{**run.options, "topics": ",".join(INTERNAL)}
    ).persist()
    last = last_segments(run.inputs.logs)
    segments = replace(run.inputs, logs=tuple(str(file.path) for file in last))
    ends = records(segments, columns=place, spark=run.spark, **run.options)
    bases = [(file.topic or "", file.partition or 0, file.base_offset or 0) for file in last]
    with run.step(f"Reading {run.inputs}"):
        report = offsets(states, log_ends(ends, bases))
    with run.step("Looking for what is broken"):
        broken = problems(states, ends)
    return run.publish(report, broken)


def last_segments(paths: tuple[str, ...]) -> list[LogSegment]:
    """The last segment of each partition in each folder, but for internal topics: the end of a log is in it alone."""
    from kwire_spark.segments import Selection, segment_files
    from kwire_spark.tables.groups import INTERNAL

    options = Options({"paths": json.dumps(paths)})
    others = Selection(tuple(f"!{topic}" for topic in INTERNAL), checkpoints="false")
    found = segment_files(options.files(), options.paths(), others)
    known = [file for file in found if file.topic and file.topic not in INTERNAL and file.base_offset is not None]
    return [*{file.path.parent: file for file in sorted(known, key=lambda file: file.path.name)}.values()]


def _check(run: Run) -> None:
    if not run.inputs.logs:
        raise OptionError(f"offsets come from data directories of brokers, of which there is none in {run.inputs}")
    if {"start", "end"} & run.options.keys():
        raise OptionError("offsets are those at the end of the logs: there is no --start and no --end")
