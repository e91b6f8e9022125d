"""What test_tls_streams.py states, with Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kwire.command import main as run
from tests.support.capture_files import merged, packets, recorded, write_pcap
from tests.support.tls_talks import Tls


def requests(folder: Path) -> Counter[tuple[str, int]]:
    rows = pq.read_table(folder / "clients").to_pylist()
    return sum((Counter({(row["api"], row["version"]): row["requests"]}) for row in rows), Counter())


@pytest.fixture
def one_task(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", "2")


@pytest.mark.usefixtures("one_task")
@pytest.mark.long
def test_watch_decrypts_and_its_checkpoint_has_no_secrets(
    tmp_path: Path, keys: Path, pem: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    made = merged(packets(Tls.make(pem, keys).through(one)) for one in recorded("kafka-python-as-of-0.10-on-3.9.1"))
    logged = keys.read_text()
    keys.write_text("")
    arguments = ["--once", "--settled", "0", "--target", "4.4.0", "--key-log", str(keys), "--out", str(out)]
    for number, part in enumerate((made[: len(made) // 2], made[len(made) // 2 :])):
        write_pcap(folder / f"{number}.pcap", part)
        keys.write_text(logged)
        assert run(["watch", str(folder), *arguments]) == 0
    assert "refused by 4.4.0 " in capsys.readouterr().err
    whole = tmp_path / "whole"
    assert run(["clients", str(folder), "--key-log", str(keys), "--engine", "local", "-q", "--out", str(whole)]) == 0
    assert requests(out) == requests(whole)
    assert "100 % of the bytes and 100 % of the connections were read" in (out / "readiness.html").read_text()
    secrets = {line.split()[2] for line in logged.splitlines() if line[0] != "#"}
    for path in (one for one in out.rglob("*") if one.is_file()):
        data = path.read_bytes()
        assert not [one for one in secrets if one.encode() in data or bytes.fromhex(one) in data], path
