"""Writes the results in the JSON file as a Markdown page and as a plot."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers.cases import CASES, Case

BASE = "kwire native"
THREADED = ("Go", "Java")
"""Prefixes of the names of multi-threaded peers."""
SHORT = {
    "records_one": "records, one batch",
    "records_130": "records, batches of 130",
} | {case.name: case.name.replace("_", " ") for case in CASES if case.sample}
VERBS = {("records", "decode"): "read", ("records", "encode"): "build"}

Results = dict[str, Any]


def verb(case: str, direction: str) -> str:
    return VERBS.get((case.split("_")[0], direction), direction)


def figure(results: Results, case: str, direction: str, peer: str) -> dict[str, Any] | None:
    wanted = (case, direction, peer)
    return next((row for row in results["figures"] if (row["case"], row["direction"], row["peer"]) == wanted), None)


def markdown(results: Results) -> str:
    machine = results["machine"]
    state = "busy, so compare only large ratios" if machine["busy"] else "idle"
    checked = len({(row["case"], row["peer"]) for row in results["figures"]})
    noisy = sum(row["noisy"] for row in results["figures"])
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    threaded = [BASE, *(peer for peer in results["peers"] if peer.startswith(THREADED))]
    parts = [
        "# kwire beside its peers",
        "This reference compares the speed and memory of kwire with other implementations of the Kafka protocol. "
        "`make bench-peers` writes this page. Before the measurement, each peer must read the same values "
        "and write the same bytes.",
        "The implementations decode to different objects. Rust and Java return views of bytes and parse records on "
        "request. Go copies only strings. Native kwire copies the key and value of a record on first use.",
        "![Times of decoding and encoding, as multiples of kwire native](peers.svg)",
        "## Median time per call",
        "The native kwire column shows microseconds, and the other columns show multiples. A multiple above 1 "
        "means that kwire is faster. `~` marks noisy figures, whose median is more than a quarter above the "
        "minimum. Records are read one by one, and building starts from keys, values and timestamps. *Ready "
        "records* means reading into a list, and building from existing `Record` objects. Cells are "
        "empty if a peer has no such class.",
        times(results, "median_ns", results["peers"]),
        "## CPU time per call, in all threads",
        "Go and Java collect garbage in other threads. For the other programs, CPU time is close to elapsed time.",
        times(results, "cpu_ns", threaded),
        "## Import and first decode",
        table(["program", "ms above a bare interpreter"], [[a, f"{b:.1f}"] for a, b in results["imports"].items()]),
        "## Memory of one decoded Metadata response, 1,000 topics x 12 partitions",
        table(["peer", "MB"], [[row["peer"], f"{row['bytes'] / 1e6:.2f}"] for row in results["memory"]]),
        "## Conditions",
        f"The machine was {state}, with a load of {machine['load']} before the run. Single-threaded programs had "
        f"{machine['cpu_share']:.0%} of a core. The machine has {machine['cores']} cores ({machine['processor']}) "
        f"and Python {machine['python']}. Of {len(results['figures'])} figures, {noisy} are noisy. The output "
        f"of {checked} combinations of peer and case was checked. Versions: {versions}.",
    ]
    remarks = [f"- {name} was left out: {why}" for name, why in results["missing"].items()]
    remarks += [f"- {name}: {what}" for name, what in results["notes"].items()]
    remarks += [f"- FAILED: {what}" for what in results["failures"]]
    return "\n\n".join([*map(wrapped, parts), "\n".join(remarks)]) + "\n"


def wrapped(part: str) -> str:
    return part if part.startswith(("|", "#", "!")) else "\n".join(textwrap.wrap(part, 120, break_on_hyphens=False))


def times(results: Results, field: str, peers: Sequence[str]) -> str:
    """Return a table for messages and a table for records."""
    return "\n\n".join(
        _times(results, field, peers, [case for case in CASES if bool(case.sample) is sample])
        for sample in (True, False)
    )


def _times(results: Results, field: str, peers: Sequence[str], cases: Sequence[Case]) -> str:
    rows = []
    here = [peer for peer in peers if any(figure(results, one.name, "decode", peer) for one in cases)]
    for case in cases:
        for direction in ("decode", "encode"):
            found = {peer: figure(results, case.name, direction, peer) for peer in here}
            size = next((row["bytes"] for row in found.values() if row), 0)
            cells = [cell(row, found.get(BASE), field) for row in found.values()]
            rows.append([f"{verb(case.name, direction)} {case.title}", f"{size:,}", *cells])
    return table(["case", "bytes", *here], rows)


def cell(row: dict[str, Any] | None, base: dict[str, Any] | None, field: str) -> str:
    if row is None:
        return ""
    mark = "~" if row["noisy"] and field == "median_ns" else ""
    return f"{row[field] / 1e3:,.4g}" if base is None or base is row else f"{row[field] / base[field]:.2f}{mark}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def plot(results: Results, target: Path) -> None:
    """Return a plot of the times by case and peer, as multiples of native kwire, on a logarithmic scale."""
    matplotlib = import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "kwire"
    matplotlib.rcParams["svg.fonttype"] = "none"
    pyplot = import_module("matplotlib.pyplot")
    peers = [peer for peer in results["peers"] if peer != BASE]
    picture, axes = pyplot.subplots(1, 2, figsize=(12, 9), sharey=True, layout="constrained")
    colours = pyplot.get_cmap("tab10")
    for plane, direction in zip(axes, ("decode", "encode"), strict=True):
        for place, case in enumerate(reversed(CASES)):
            base = figure(results, case.name, direction, BASE)
            for number, peer in enumerate(peers):
                row = figure(results, case.name, direction, peer)
                if row and base:
                    height = place + 0.8 * (len(peers) / 2 - number) / len(peers)
                    ratio = row["median_ns"] / base["median_ns"]
                    plane.plot([1, ratio], [height, height], color=colours(number), linewidth=3)
                    plane.plot([ratio], [height], "o", color=colours(number), markersize=5, label=peer)
        plane.set_xscale("log")
        plane.axvline(1, color="black", linewidth=1)
        plane.set_yticks(range(len(CASES)), [SHORT[case.name] for case in reversed(CASES)])
        plane.set_title("decode, read" if direction == "decode" else "encode, build")
        plane.set_xlabel("time, as a multiple of kwire native: further right is slower")
        plane.xaxis.set_major_formatter("{x:g}")
        plane.grid(axis="x", alpha=0.3)
    handles = {
        label: handle for plane in axes for handle, label in zip(*plane.get_legend_handles_labels(), strict=True)
    }
    picture.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    picture.savefig(target, format="svg", metadata={"Date": None})
    target.write_text("\n".join(line.rstrip() for line in target.read_text("utf-8").splitlines()) + "\n", "utf-8")
