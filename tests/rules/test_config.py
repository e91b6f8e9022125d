"""``[tool.kwirec]``: what it can say, and every way in which it can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kwirec import files
from kwirec.catalogue import CODES
from kwirec.config import ConfigError, load_report
from kwirec.diagnostics.diagnostic import Code, Report, Severity, Waiver

Load = Callable[[str], Report]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def run(text: str) -> Report:
        path = tmp_path / "pyproject.toml"
        path.write_text(text, encoding="utf-8")
        return load_report(path)

    return run


def test_severities_and_waivers(load: Load) -> None:
    config = load("""
        [tool.kwirec]
        severity = { K207 = "off", tag-gap = "error" }
        package = "acme_wire"

        [[tool.kwirec.waivers]]
        code = "tag-gap"
        message = "FetchRequest"
        field = "Topics.Private"
        reason = "tags from 10000 on are ours"

        [[tool.kwirec.waivers]]
        code = "K209"
        message = "*"
        reason = "files are numbered"
        """)
    assert config.severities == {"K207": Severity.OFF, "K603": Severity.ERROR}
    assert config.waivers == (
        Waiver(code="K603", message="FetchRequest", field="Topics.Private", reason="tags from 10000 on are ours"),
        Waiver(code="K209", message="*", field="*", reason="files are numbered"),
    )


@pytest.mark.parametrize("text", ["", "[tool.black]\nline-length = 1", "[tool.kwirec]"])
def test_nothing_said(load: Load, text: str) -> None:
    assert load(text) == Report()


WAIVER = '[[tool.kwirec.waivers]]\ncode = "K207"\nmessage = "Clock"\nreason = "ours"\n'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[tool.kwirec]\nseverity = { K99 = "off" }', "severity: unknown code `K99`"),
        ('[tool.kwirec]\nseverity = { tag-gaps = "off" }', "unknown code `tag-gaps`; did you mean `tag-gap`?"),
        ('[tool.kwirec]\nseverity = { K602 = "off" }', "severity: K602 (duplicate-tag) is an error that cannot be"),
        ('[tool.kwirec]\nseverity = { K207 = "mild" }', "`mild` for K207 is not one of error, warning, note, off"),
        ('[tool.kwirec]\nseverity = { K603 = "off", tag-gap = "note" }', "K603 is set twice, once as `tag-gap`"),
        ('[tool.kwirec]\nseverity = "off"', "`severity` must be a table"),
        ('[tool.kwirec]\nseverities = { K207 = "off" }', "has no `severities`; did you mean `severity`?"),
        ("[tool.kwirec]\nwaivers = 3", "write each waiver as its own [[tool.kwirec.waivers]]"),
        ("[tool.kwirec]\nwaivers = [3]", "write each waiver as its own [[tool.kwirec.waivers]]"),
        (WAIVER.replace('reason = "ours"', ""), "waiver 1: `reason` is missing"),
        (WAIVER.replace("ours", " "), "waiver 1: `reason` is missing"),
        (WAIVER + WAIVER.replace("K207", "K270"), "waiver 2: unknown code `K270`"),
        (WAIVER.replace("K207", "K602"), "waiver 1: K602 (duplicate-tag) is an error that cannot be relaxed"),
        (WAIVER + 'fields = "Zone"', "waiver 1: unknown key `fields`; did you mean `field`?"),
        (WAIVER + 'zebra = "x"', "waiver 1: unknown key `zebra`; the keys are code, message, reason, field"),
        (
            WAIVER + "expires = 2027-01-31",
            "waiver 1: unknown key `expires`; the keys are code, message, reason, field",
        ),
        (WAIVER + "field = 3", "waiver 1: `field` must be a string"),
        ("[tool.kwirec", "Expected ']'"),
    ],
)
def test_mistakes(load: Load, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert len(caught.value.problems) == 1
    assert problem in caught.value.problems[0]
    assert str(caught.value.path) in str(caught.value)


@pytest.mark.parametrize("code", CODES, ids=str)
def test_codes_that_can_be_relaxed_are_relaxed_and_waived_by_number_and_name(load: Load, code: Code) -> None:
    """Errors among them too; all others are refused in both places."""
    for word in (code.number, code.name.upper()):
        text = f'[tool.kwirec]\nseverity = {{ {word} = "note" }}\n{WAIVER.replace("K207", word)}'
        if code.relaxable:
            found = load(text)
            assert found.severities == {code.number: Severity.NOTE}
            assert found.waivers == (Waiver(code=code.number, message="Clock", reason="ours"),)
        else:
            told = f"{code.number} ({code.name}) is an error that cannot be relaxed"
            with pytest.raises(ConfigError) as caught:
                load(text)
            assert caught.value.problems == (f"severity: {told}", f"waiver 1: {told}")


def test_all_mistakes_at_once(load: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        load('[tool.kwirec]\nseverity = { K99 = "loud", K207 = "mild" }\n' + WAIVER.replace("K207", "K602"))
    assert len(caught.value.problems) == 4


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nowhere"):
        load_report(tmp_path / "nowhere.toml")


def test_a_file_that_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(b'[tool.kwirec]\nname = "caf\xe9"\n')
    with pytest.raises(ConfigError, match=f"^{path.as_posix()}: 'utf-8' codec can't decode byte 0xe9"):
        load_report(path)


def test_a_file_that_is_too_large_is_refused_not_cut_off(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[tool.kwirec]\nseverity = { K207 = "off" }\n'
    monkeypatch.setattr(files, "MAX_FILE", len(text))
    assert load(text).severities == {"K207": Severity.OFF}
    with pytest.raises(ConfigError, match="is larger than"):
        load(f"{text}#")


def test_all_mistakes_are_told_together(load: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        load(f"[tool.kwirec]\nseverity = 3\n{WAIVER}versions = 2\n")
    assert len(caught.value.problems) == 2
    assert all(problem in str(caught.value) for problem in caught.value.problems)
