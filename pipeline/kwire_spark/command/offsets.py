"""``kwire-spark offsets``: groups, members, committed offsets and transactions from a data directory."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kwire_spark.command.common import Run, problems, with_inputs
from kwire_spark.options import OptionError, Options

if TYPE_CHECKING:
    from kwire.logs import LogSegment

PLACE = ("source", "position", "topic", "partition", "offset", "_corrupt")


@click.command("offsets")
@with_inputs()
def command(run: Run) -> int:
    """Groups with members, committed offsets and lag, from the internal topics in brokers' data directories."""
    from kwire_spark.reports.offsets import log_ends, offsets
    from kwire_spark.state.replay import COLUMNS
    from kwire_spark.tables.groups import INTERNAL
    from kwire_spark.tables.read import read_records

    if not run.inputs.logs:
        raise OptionError(f"offsets need a data directory of a broker: found {run.inputs}")
    if {"start", "end"} & run.options.keys():
        raise OptionError("--start and --end are not supported: offsets are those at the end of the logs")
    names = dict.fromkeys((*COLUMNS, *PLACE))
    states = run.read(read_records, *names, topics=",".join(INTERNAL)).persist()
    last = last_segments(run.inputs.logs)
    segments = replace(run.inputs, logs=tuple(str(file.path) for file in last))
    ends = read_records(segments, columns=PLACE, spark=run.spark, **run.options)
    bases = [(file.topic or "", file.partition or 0, file.base_offset or 0) for file in last]
    with run.step(f"Reading {run.inputs}"):
        report = offsets(states, log_ends(ends, bases))
    with run.step("Looking for broken records"):
        broken = problems(states, ends)
    return run.publish(report, broken)


def last_segments(paths: tuple[str, ...]) -> list[LogSegment]:
    """The last segment of each partition in each folder, without internal topics: only it has the end of the log."""
    from kwire_spark.segments import Selection, segment_files
    from kwire_spark.tables.groups import INTERNAL

    options = Options({"paths": json.dumps(paths)})
    others = Selection(tuple(f"!{topic}" for topic in INTERNAL), checkpoints="false")
    files = segment_files(options.files(), options.paths(), others)
    known = [file for file in files if file.topic and file.topic not in INTERNAL and file.base_offset is not None]
    return [*{file.path.parent: file for file in sorted(known, key=lambda file: file.path.name)}.values()]
