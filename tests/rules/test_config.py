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
        ('[tool.kwirec]\nseverity = { K99 = "off" }', "severity: unknown code `K99`; did you mean `K909`?"),
        (
            '[tool.kwirec]\nseverity = { tag-gaps = "off" }',
            "severity: unknown code `tag-gaps`; did you mean `tag-gap`?",
        ),
        (
            '[tool.kwirec]\nseverity = { K602 = "off" }',
            "severity: K602 (duplicate-tag) is an error that cannot be relaxed",
        ),
        (
            '[tool.kwirec]\nseverity = { K207 = "mild" }',
            "severity: `mild` for K207 is not one of error, warning, note, off",
        ),
        (
            '[tool.kwirec]\nseverity = { K603 = "off", tag-gap = "note" }',
            "severity: K603 is set twice, once as `tag-gap`",
        ),
        ('[tool.kwirec]\nseverity = "off"', '`severity` must be a table such as { K207 = "off" }'),
        (
            '[tool.kwirec]\nseverities = { K207 = "off" }',
            "[tool.kwirec] has no `severities`; did you mean `severity`?",
        ),
        ("[tool.kwirec]\nwaivers = 3", "write each waiver as its own [[tool.kwirec.waivers]]"),
        ("[tool.kwirec]\nwaivers = [3]", "write each waiver as its own [[tool.kwirec.waivers]]"),
        (WAIVER.replace('reason = "ours"', ""), "waiver 1: `reason` is missing"),
        (WAIVER.replace("ours", " "), "waiver 1: `reason` is missing"),
        (WAIVER + WAIVER.replace("K207", "K270"), "waiver 2: unknown code `K270`; did you mean `K710`?"),
        (WAIVER.replace("K207", "K602"), "waiver 1: K602 (duplicate-tag) is an error that cannot be relaxed"),
        (WAIVER + 'fields = "Zone"', "waiver 1: unknown key `fields`; did you mean `field`?"),
        (WAIVER + 'zebra = "x"', "waiver 1: unknown key `zebra`; the keys are code, message, reason, field"),
        (
            WAIVER + "expires = 2027-01-31",
            "waiver 1: unknown key `expires`; the keys are code, message, reason, field",
        ),
        (WAIVER + "field = 3", "waiver 1: `field` must be a string"),
        (WAIVER.replace('"Clock"', "3"), "waiver 1: `message` must be a string"),
        ("tool = 3", "`tool` must be a table, as in [tool.kwirec]"),
        ("[tool]\nkwirec = 3", "`kwirec` must be a table, as in [tool.kwirec]"),
        ("[tool.kwirec", "Expected ']' at the end of a table declaration (at end of document)"),
    ],
)
def test_mistakes(load: Load, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert caught.value.problems == (problem,)
    assert str(caught.value) == f"{caught.value.path.as_posix()}: {problem}"


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
    severities = 'severity = { K99 = "loud", K207 = "mild" }\n'
    with pytest.raises(ConfigError) as caught:
        load(f"[tool.kwirec]\n{severities}{WAIVER.replace('code', 'cod')}versions = 2\n{WAIVER}versions = true\n")
    assert caught.value.problems == (
        "severity: unknown code `K99`; did you mean `K909`?",
        "severity: `loud` for K99 is not one of error, warning, note, off",
        "severity: `mild` for K207 is not one of error, warning, note, off",
        "waiver 1: unknown key `cod`; did you mean `code`?",
        "waiver 1: unknown key `versions`; the keys are code, message, reason, field",
        "waiver 1: `code` is missing",
        "waiver 2: unknown key `versions`; the keys are code, message, reason, field",
        "waiver 2: versions: expected `N`, `N-M`, `N+` or `none`",
    )
    path = caught.value.path.as_posix()
    assert str(caught.value) == "\n".join(f"{path}: {problem}" for problem in caught.value.problems)
