"""Inputs from servers of Google's and Azure's stores: the same tables as from files, and faults in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from kwire.command import main as run
from kwire_inspect.options import OptionError, Options
from kwire_inspect.storage import stores
from tests.e2e_stores.cloud_servers import AZURE, BUCKETS, CLOUDS, GOOGLE, upload
from tests.inspect.test_archives import rows

pytestmark = pytest.mark.usefixtures("clouds")


@pytest.mark.parametrize("command", ["clients", "offsets", "tables"])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_folder_of_a_cloud_gives_the_same_tables(tmp_path: Path, given: Path, cloud: str, command: str) -> None:
    upload(cloud, given, "day 1%")
    root = f"{cloud}://{BUCKETS[cloud]}/day 1%"
    for name, place in (("file", str(given)), ("cloud", root)):
        run([command, place, "--out", str(tmp_path / name), "-q"])
    assert rows(tmp_path / "cloud", f"{root}/") == rows(tmp_path / "file", f"{given}/") != {}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_what_names_stand_for(given: Path, cloud: str) -> None:
    upload(cloud, given, "day")
    root = f"{cloud}://{BUCKETS[cloud]}"
    capture = [f"{root}/day/captures/a.pcap.gz"]
    for name in ("/day/captures", "/day/captures/a.pcap.gz", "/d*/*/*.pcap.gz", "/**/a.pcap.*", "/day/captures/*"):
        assert Options({"path": root + name}).files() == capture, name
    everything = Options({"path": root}).files()
    assert len(everything) == sum(path.is_file() and path.name[0] not in "._" for path in given.rglob("*"))
    assert Options({"path": f"{root}/*"}).files() == everything
    for name, told in (("/none", "no such object or folder"), ("/none*", "no object matches this pattern")):
        with pytest.raises(OptionError, match=told):
            Options({"path": root + name}).files()


@pytest.mark.parametrize(
    ("cloud", "name", "value", "told"),
    [
        (AZURE, stores.CONNECTION_STRING, "wrong key", "access is denied"),
        (
            GOOGLE,
            "GOOGLE_APPLICATION_CREDENTIALS",
            "/none",
            "no credentials were found, or their source cannot be reached",
        ),
    ],
)
def test_credentials_that_are_wrong_are_one_line(
    given: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cloud: str,
    name: str,
    value: str,
    told: str,
) -> None:
    upload(cloud, given, "day")
    if cloud == AZURE:
        value = "".join(f"{part};" for part in wrong_key())
    monkeypatch.setenv(name, value)
    stores.file_system.cache_clear()
    assert run(["clients", f"{cloud}://{BUCKETS[cloud]}/day", "-q"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line.lower()


def wrong_key() -> list[str]:
    import os

    parts = os.environ[stores.CONNECTION_STRING].split(";")
    return ["AccountKey=d3Jvbmc=" if part.startswith("AccountKey") else part for part in parts]
