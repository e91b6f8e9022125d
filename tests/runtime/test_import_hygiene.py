"""What importing the generated package brings with it: little, and no codec before it is used."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("dataclasses", "enum", "inspect", "kwirec", "mypy_extensions", "typing", "typing_extensions", "uuid")


def loaded(code: str) -> set[str]:
    """The modules that ``code`` imports, beyond those of an empty interpreter."""
    program = f"before = set(sys.modules); {code}; print(*sorted(set(sys.modules) - before))"
    # -S: no hooks of site-packages, which import things of their own; the path is handed over instead.
    run = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


def codecs(modules: set[str]) -> set[str]:
    groups = ("api", "coordinator", "data", "headers", "metadata")
    found = {module for module in modules if module.startswith(tuple(f"kwire_kafka.{group}" for group in groups))}
    return {module for module in found if not module.endswith("__mypyc")}  # the library of a native module


def test_the_package_imports_nothing_heavy() -> None:
    modules = loaded("import kwire_kafka")
    assert "kwire_kafka.index" in modules
    assert not modules & set(HEAVY)
    assert not codecs(modules)


def test_a_codec_imports_nothing_heavy_either() -> None:
    modules = loaded("from kwire_kafka import FetchRequest")
    assert codecs(modules) == {"kwire_kafka.api", "kwire_kafka.api.fetch"}
    assert not modules & set(HEAVY)


def test_codecs_come_one_by_one() -> None:
    code = "import kwire_kafka; kwire_kafka.PROTOCOL.request(3); kwire_kafka.TopicRecord"
    assert codecs(loaded(code)) == {
        "kwire_kafka.api",
        "kwire_kafka.api.metadata",
        "kwire_kafka.metadata",
        "kwire_kafka.metadata.topic_record",
    }


def test_a_good_message_never_imports_the_slow_path() -> None:
    code = "from kwire_kafka import HeartbeatRequest as H; H.decode(H(group_id='g').encode(4), 4)"
    assert "kwire.interpreter" not in loaded(code)


def test_names_of_the_package() -> None:
    import kwire_kafka

    assert set(kwire_kafka.MODULES) <= set(dir(kwire_kafka))
    assert not hasattr(kwire_kafka, "NothingRequest")
