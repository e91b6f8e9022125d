"""The history of a union: what is written reads the same, whatever releases had which bytes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.files import replace_files
from kwirec.merge.history import (
    ApiFacts,
    ExceptionEntry,
    History,
    HistoryError,
    history_files,
    read_history,
    release_key,
)

RELEASES = ["2.8.2", "3.0.2", "3.9.1", "3.10.0", "4.0.0"]
PRINTS = ["aaaa", "bbbb", "cccc"]


def test_releases_are_ordered_by_number() -> None:
    assert sorted(["3.10.0", "4.0.0", "2.8.2", "3.9.1", "3.0.2"], key=release_key) == RELEASES
    assert release_key("0.8.2.2") < release_key("0.8.2.10") < release_key("0.9.0")


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Each release has one fingerprint for each version that it has."""
    history = History()
    for message in ("A", "B"):
        for version in range(3):
            for release in draw(st.lists(st.sampled_from(RELEASES), unique=True)):
                history.record_layout(message, version, draw(st.sampled_from(PRINTS)), release)
    return history


def written_and_read(history: History) -> History:
    with TemporaryDirectory() as folder:
        replace_files(Path(folder), history_files(history))
        return read_history(Path(folder))


@pytest.mark.slow
@given(histories())
def test_layouts_read_as_they_were_written(history: History) -> None:
    again = written_and_read(history)
    assert again.layouts == history.layouts
    assert again.merged == history.merged


@pytest.mark.slow
@given(histories(), st.sampled_from(RELEASES))
def test_a_release_that_is_forgotten_leaves_no_trace(history: History, release: str) -> None:
    left = [other for other in history.merged if other != release]
    history.forget(release)
    assert history.merged == left
    assert release not in json.dumps(history.layouts)
    assert all(versions and all(versions.values()) for versions in history.layouts.values())


def test_facts_and_exceptions_read_as_they_were_written() -> None:
    history = History()
    for release in RELEASES:
        history.record_layout("A", 0, "aaaa", release)
    history.releases = {
        "2.8.2": {0: ApiFacts("A", "0-3", deprecated="0-1", listeners=("broker",)), 18: ApiFacts("B", "0")},
        "4.0.0": {0: ApiFacts("A", "2-4", advertises="0-4", unstable="4")},
    }
    history.sources = {"2.8.2": "definitions", "4.0.0": "by hand"}
    history.exceptions = [
        ExceptionEntry("B", 1, ["3.10.0"], None, "narrower"),
        ExceptionEntry("B", 1, ["2.8.2"], None, "wider"),
        ExceptionEntry("A", 1, ["3.9.1", "2.8.2"], 0, "ünder"),
        ExceptionEntry("A", 1, ["3.10.0"], 0, "ünder"),
        ExceptionEntry("C", 1, ["3.10.0"], None, "longer"),
        ExceptionEntry("C", 1, ["3.9.1"], None, "shorter"),
    ]
    again = written_and_read(history)
    assert (again.releases, again.sources) == (history.releases, history.sources)
    assert again.exceptions == [
        ExceptionEntry("A", 1, ["2.8.2", "3.9.1", "3.10.0"], 0, "ünder"),
        ExceptionEntry("B", 1, ["2.8.2"], None, "wider"),
        ExceptionEntry("B", 1, ["3.10.0"], None, "narrower"),
        ExceptionEntry("C", 1, ["3.9.1"], None, "shorter"),
        ExceptionEntry("C", 1, ["3.10.0"], None, "longer"),
    ]


def test_neighbouring_releases_are_written_as_a_span() -> None:
    history = History()
    for release in RELEASES:
        history.record_layout("A", 0, "bbbb" if release == "3.9.1" else "aaaa", release)
    with TemporaryDirectory() as folder:
        replace_files(Path(folder), history_files(history))
        text = (Path(folder) / "layouts.json").read_text()
    assert '"0": {"aaaa": "2.8.2..3.0.2 3.10.0..4.0.0", "bbbb": "3.9.1"}' in text


@pytest.mark.parametrize("name", ["releases.json", "layouts.json", "exceptions.json"])
@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "[1]",
        '{"releases": 3}',
        '{"4.0.0": {"apis": []}}',
        "\0",
        "[" * 100_000,
        '{"4.0.0": {"source": "jar", "apis": {"1": {"name": "Fetch", "accepts": ""}}}}',
    ],
)
def test_a_damaged_file_is_an_error_of_input(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    if (name, text) != ("exceptions.json", "[]"):
        with pytest.raises(OSError, match="does not have the format that `kwirec merge` writes"):
            read_history(tmp_path)


@pytest.mark.parametrize("attribute", ["accepts", "advertises", "deprecated", "unstable"])
def test_the_versions_of_a_release_have_an_end(tmp_path: Path, attribute: str) -> None:
    """The emitted ``releases.py`` has them as they are written, and kwire reads no open ranges there."""
    api = {"name": "Fetch", "accepts": "0-3"} | {attribute: "0+"}
    (tmp_path / "releases.json").write_text(json.dumps({"4.0.0": {"source": "jar", "apis": {"1": api}}}))
    with pytest.raises(
        HistoryError, match=f"`{attribute}` of api key 1 in 4.0.0 is '0[+]', .* the last version, as in `0-4`"
    ):
        read_history(tmp_path)


@pytest.mark.parametrize("wrong", [{"version": "7"}, {"version": True}, {"now": "1"}, {"now": 1.5}])
def test_a_version_in_exceptions_that_is_no_number_is_an_error_of_input(
    tmp_path: Path, wrong: dict[str, object]
) -> None:
    entry = {"message": "A", "version": 1, "releases": "", "reason": "wider"} | wrong
    (tmp_path / "exceptions.json").write_text(json.dumps([entry]))
    with pytest.raises(HistoryError, match="is not a number"):
        read_history(tmp_path)


API = {"name": "Fetch", "accepts": "0", "listeners": ["broker"]}
ENTRY = {"message": "A", "version": 1, "releases": "4.0.0", "reason": "wider"}
LAID = {"releases": ["4.0.0"], "messages": {"A": {"0": {"aaaa": "4.0.0"}}}}
NAMES = [
    ("releases.json", {"4.0.0": {"source": "jar", "apis": {"1": API}, "unpublished": ["A"]}}, None),
    ("releases.json", {"4.0.0 ": {"source": "jar", "apis": {}}}, "ValueError(\"'4.0.0 ' is not a release\")"),
    ("releases.json", {"v4": {"source": "jar", "apis": {}}}, "'v4' is not a release"),
    ("releases.json", {"4.0.0": {"source": 3, "apis": {}}}, "TypeError"),
    ("releases.json", {"4.0.0": {"source": "jar", "apis": {"one": API}}}, "invalid literal"),
    ("releases.json", {"4.0.0": {"source": "jar", "apis": {"1": API | {"name": "A b"}}}}, "the name of an API"),
    ("releases.json", {"4.0.0": {"source": "jar", "apis": {"1": API | {"listeners": [3]}}}}, "TypeError"),
    ("releases.json", {"4.0.0": {"source": "jar", "apis": {"1": API | {"others": "0"}}}}, "TypeError"),
    ("releases.json", {"4.0.0": {"source": "jar", "apis": {}, "unpublished": [3]}}, "TypeError"),
    ("layouts.json", LAID, None),
    ("layouts.json", LAID | {"releases": ["4.x"]}, "'4.x' is not a release"),
    ("layouts.json", LAID | {"releases": ["4.1.0"]}, "'4.0.0' is not in list"),
    ("exceptions.json", [ENTRY], None),
    ("exceptions.json", [ENTRY, ENTRY | {"message": 3}], "TypeError"),
    ("exceptions.json", [ENTRY | {"reason": None}], "TypeError"),
    ("exceptions.json", [ENTRY | {"releases": "4.0.1"}], "'4.0.1' is not in list"),
    ("exceptions.json", [ENTRY | {"when": "then"}], "TypeError"),
]


@pytest.mark.parametrize(("name", "content", "told"), NAMES)
def test_names_and_texts_of_the_history_are_read_with_care(
    tmp_path: Path, name: str, content: object, told: str | None
) -> None:
    """They become names of files, and lines of code that is emitted."""
    (tmp_path / "layouts.json").write_text(json.dumps(LAID))
    (tmp_path / name).write_text(json.dumps(content))
    if told is None:
        assert json.loads(history_files(read_history(tmp_path))[name]) == content
    else:
        with pytest.raises(HistoryError) as caught:
            read_history(tmp_path)
        assert str(caught.value).startswith(
            f"{(tmp_path / name).as_posix()} does not have the format that `kwirec merge` writes: "
        )
        assert told in str(caught.value)


def test_a_module_that_was_not_published_had_the_versions_of_the_release_before() -> None:
    """Also if several releases in a row lack it. Before its first release, and after it was removed, it had none."""
    names = [f"1.{minor}.0" for minor in range(8)]
    history = History(releases={name: {} for name in reversed(names)})
    history.unpublished = {names[at]: ["B", "A"] for at in (0, 2, 3, 6)} | {names[5]: ["B"]}
    for version, releases in ((0, (1, 4, 7)), (1, (4, 5)), (2, (7,))):
        for at in releases:
            history.record_layout("A", version, "aaaa", names[at])
    history.record_layout("B", 0, "bbbb", names[4])
    found = {key: history.unpublished_in(*key) for key in (("A", 0), ("A", 1), ("A", 2), ("B", 0), ("C", 0))}
    assert found == {
        ("A", 0): {"1.2.0", "1.3.0"}, ("A", 1): {"1.6.0"}, ("A", 2): set(), ("B", 0): {"1.5.0", "1.6.0"},
        ("C", 0): set(),
    }  # fmt: skip


def test_the_order_of_merges_does_not_show_in_exceptions() -> None:
    def text(releases: list[str]) -> str:
        history = History()
        for release in RELEASES:
            history.record_layout("A", 1, "aaaa", release)
        history.exceptions = [ExceptionEntry("A", 1, [release], None, "wider") for release in releases]
        history.exceptions += [ExceptionEntry("A", 1, ["3.9.1"], 0, "moved")]
        return history_files(history)["exceptions.json"]

    assert text(["4.0.0", "2.8.2", "3.10.0"]) == text(["2.8.2", "3.10.0", "4.0.0"])


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "releases.json")
    with pytest.raises(OSError, match="not a regular file"):
        read_history(tmp_path)


def test_the_oldest_bytes_of_a_version_come_first(tmp_path: Path) -> None:
    history = History()
    for release, fingerprint in (("3.10.0", "aaaa"), ("3.9.1", "bbbb")):
        history.record_layout("A", 0, fingerprint, release)
    replace_files(tmp_path, history_files(history))
    assert '"0": {"bbbb": "3.9.1", "aaaa": "3.10.0"}' in (tmp_path / "layouts.json").read_text()
