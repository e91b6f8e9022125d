"""Source code of ours imports Kafka's classes from where a release has them."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tools.classes import packages, qualified, relocated

FOUND = {"Here": {"org.apache.kafka.a", "org.apache.kafka.b"}, "Moved": {"org.apache.kafka.b.internal"}}


def test_classes_are_imported_from_where_a_release_has_them() -> None:
    source = "import org.apache.kafka.a.Here;\nimport org.apache.kafka.a.Moved;\nimport java.util.List;\n"
    assert relocated(source, FOUND) == source.replace("a.Moved", "b.internal.Moved")


@pytest.mark.parametrize("name", ["Gone", "Here"])
def test_classes_that_cannot_be_found(name: str) -> None:
    with pytest.raises(
        ValueError, match=rf"{name} is in (no package|org\.apache\.kafka\.a and org\.apache\.kafka\.b):"
    ):
        qualified(FOUND, name, "org.apache.kafka.c")


def test_the_packages_of_a_jar(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        for name in ("org/a/One.class", "org/b/One.class", "org/a/One$Inner.class", "org/a/message.json"):
            jar.writestr(name, "")
    assert packages(tmp_path / "a.jar") == {"One": {"org.a", "org.b"}}
