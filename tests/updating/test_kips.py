"""Comments of Kafka's definitions say which versions a KIP made."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.merge.support import Union
from tools import kips as tool
from tools.kips import kips
from tools.maven import Jars

COMMENTS = """\
// KIP-1 stands before any version.
// Version 1 adds a field (KIP-12).
//
// Versions 3-5 are KIP-34
// and, on the next line, KIP-35.
//
// An empty line of the comment ends nothing: KIP-36
{ "name": "A", "about": "Version 2 is no comment: KIP-2" }
  // KIP-3 is after the comment.
  // Starting from version 7, it is flexible (KIP-482, KIP-483).
  // Verison 8 and 9 are the same. KIP-89
  // In version 9 the words begin otherwise: KIP-90
"""


def test_a_kip_is_of_the_versions_that_begin_its_comment() -> None:
    third = [3, 4, 5]
    found = [(12, [1]), (34, third), (35, third), (36, third), (482, [7]), (483, [7]), (89, [8, 9]), (90, [8, 9])]
    assert list(kips(COMMENTS)) == [(version, kip) for kip, versions in found for version in versions]


def test_the_newest_3_x_and_the_newest_release_say_which_kips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Versions that the union lacks, and messages that it does not know, are left out."""

    def data(name: str, **more: object) -> dict[str, object]:
        return {
            "type": "data",
            "name": name,
            "validVersions": "1-9",
            "flexibleVersions": "none",
            "fields": [],
            **more,
        }

    union = Union(tmp_path)
    for release in ("2.8.0", "3.9.0", "3.10.0", "4.0.0", "4.1.0"):
        union.merge(release, data("B", aliases=["Old"]) if release < "4" else data("B"), data("A"))
    union.edit("B", '"name": "B",', '"name": "B", "aliases": ["Old"],')
    history = {release: {"source": "definitions", "apis": {}} for release in ("3.9.0", "3.10.0", "4.0.0", "4.1.0")}
    (union.root / "releases.json").write_text(json.dumps(history))
    texts = {
        "3.10.0": {"Old": "// Versions 1-2 are of KIP-20, KIP-3\n", "Gone": "// Version 1 is of KIP-7\n"},
        "4.1.0": {
            "A": "// Version 10 is of KIP-8\n// Version 9 is of KIP-9\n// Version 3 is of KIP-6\n",
            "B": "// Version 2 is of KIP-1, KIP-848, KIP-320 and KIP-73\n",
        },
    }

    def bring(releases: list[str]) -> list[Jars]:
        assert releases == list(texts)
        return [jars(release) for release in releases]

    def jars(release: str) -> Jars:
        modules = {name: tmp_path / f"{name}-{release}.jar" for name in texts[release]}
        for name, path in modules.items():
            with zipfile.ZipFile(path, "w") as jar:
                jar.writestr(f"common/message/{name}.json", f"{texts[release][name]}{json.dumps(data(name))}")
        return Jars(release, tmp_path, modules, tmp_path, ())

    monkeypatch.setattr(tool, "DEFINITIONS", union.root)
    monkeypatch.setattr(tool, "bring", bring)
    tool.main()
    assert capsys.readouterr().out == "4 versions of 2 messages\n"
    assert (union.root / "kips.json").read_text() == (
        '{\n  "A": {\n    "3": [6],\n    "9": [9]\n  },\n  "B": {\n    "1": [3, 20],\n'
        '    "2": [1, 3, 20, 73, 320, 848]\n  }\n}\n'
    )
