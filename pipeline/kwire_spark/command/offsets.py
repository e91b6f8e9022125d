"""``kwire-spark offsets``: groups, members, committed offsets and transactions from a data directory."""

from __future__ import annotations

import click

from kwire_spark.command.common import Run, problems
from kwire_spark.command.common import command as shared
from kwire_spark.options import OptionError

INTERNAL = ("__consumer_offsets", "__transaction_state")


@click.command("offsets")
@shared()
def command(run: Run) -> int:
    """Groups with members, committed offsets and lag, from the internal topics of brokers' data directories."""
    from kwire_spark.reports.offsets import log_ends, offsets
    from kwire_spark.state.replay import COLUMNS
    from kwire_spark.tables.read import records

    if not run.inputs.logs:
        raise OptionError(f"offsets come from data directories of brokers, of which there is none in {run.inputs}")
    place = ("source", "position", "topic", "partition", "offset", "_corrupt")
    internal, others = ",".join(INTERNAL), ",".join(f"!{topic}" for topic in INTERNAL)
    spark, given = run.spark, run.options
    names = tuple(dict.fromkeys((*COLUMNS, *place)))
    states = records(run.inputs, columns=names, spark=spark, **(given | {"topics": internal})).persist()
    ends = records(run.inputs, columns=place, spark=spark, **(given | {"topics": others}))
    with run.step(f"Reading {run.inputs}"):
        states.count()
    with run.step("Adding up"):
        report = offsets(states, log_ends(ends))
    return run.hand_over(report, problems(states, ends))
