"""``build/traffic`` → ``tests/data/traffic``, for `make test`. ``python -m tests.e2e_traffic.sample [RELEASE…]``.

Captures and logs are whole, and compressed in one way or another; of data directories the internal topics are kept.
Logs name no folders of this machine any more; nothing else is changed.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from pathlib import Path

import zstandard

from tests.e2e_traffic.record import RUNS
from tests.e2e_traffic.told import told
from tests.e2e_traffic.venvs import ROOT
from tests.real_kafka.releases import BROKERS

SAMPLE = ROOT / "tests" / "data" / "traffic"
LOGS = ("kafka-request.log", "server.log")
FACTS = ("truth.json", "verdicts.json")
INTERNAL = ("__consumer_offsets-*", "__cluster_metadata-*", "__transaction_state-*")


def main() -> None:
    for release in sys.argv[1:] or BROKERS:
        keep(RUNS / release, SAMPLE / release)


def keep(run: Path, sample: Path) -> None:
    """The sample of a run, in place of the one before."""
    shutil.rmtree(sample, ignore_errors=True)
    sample.mkdir(parents=True)
    capture = (run / "traffic.pcap").read_bytes()
    if run.name.startswith("4.0"):
        (sample / "traffic.pcap.zst").write_bytes(zstandard.ZstdCompressor(19).compress(capture))
    else:
        (sample / "traffic.pcap.gz").write_bytes(gzip.compress(capture, mtime=0))
    for name in LOGS:
        text = _anonymous((run / name).read_text(errors="replace"), run)
        (sample / f"{name}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    for name in FACTS:
        shutil.copyfile(run / name, sample / name)
    said = {client: [[*key, count] for key, count in sorted(one.items())] for client, one in told(run).items()}
    (sample / "told.json").write_text(json.dumps(said) + "\n")
    for segment in _segments(run):
        target = sample / "data" / segment.parent.name / segment.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(segment, target)


def _segments(run: Path) -> list[Path]:
    """What is not empty; a broker writes a checkpoint of its metadata when it is formatted."""
    folders = [folder for data in run.glob("data-*") for name in INTERNAL for folder in data.glob(name)]
    files = [file for folder in folders for kind in ("*.log", "*.checkpoint") for file in folder.glob(kind)]
    return sorted(file for file in files if file.stat().st_size)


def _anonymous(text: str, run: Path) -> str:
    for name, instead in ((str(run), "/kafka"), (str(ROOT), "/kwire")):
        text = text.replace(name, instead)
    return text


if __name__ == "__main__":
    main()
