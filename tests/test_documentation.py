"""The pages say what is so: their examples run, their output is real, and every page can be found."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kwire
from kwire import DecodeError
from kwire_guide.prose import read_prose
from kwire_kafka.api.metadata import MetadataRequest, MetadataRequestTopic
from kwire_kafka.releases import RELEASES
from kwirec.catalogue import in_other_notation
from kwirec.frontend.syntax import ATTRIBUTES
from tools.command_pages import FOLDER, command_pages
from tools.pages import naming, pages

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()

PRINTED = {
    "README.md": [r"Request\(header=RequestHeader\(.*client_id='me'.*\n"],
    "compiler.md": [r"0-2 False\n"],
    "codecs.md": [r"ResponseHeader\(.*NONE\n(?s:.*)^ 18 ApiVersions +0 to 4$(?s:.*)"],
    "records-and-logs.md": [
        r"3 7 41\n40 b'key' b'value'\n41 b'key' None\n",
        r"2 records, 91 bytes\n",
        r"(\d+ g0 t7 \d \d+\n(?s:.*))+",
        r"ConnectorConfig connector-orders\n"
        r'\{"properties":\{"connector\.class":"JdbcSource","connection\.password":"\[hidden\]"\}\}\n'
        r"\{'connector\.class': 'JdbcSource', 'connection\.password': 'hunter2'\}\n",
    ],
    "connections.md": [r"5\n\[\('ApiVersions', 4, 0\.00\d+\)\]\n"],
    "secrets.md": [
        r"SaslAuthenticateRequest\(auth_bytes=<14 bytes, hidden>\)\n"
        r"\{'authBytes': 'AGFsaWNlAGh1bnRlcjI='\}\n\{'authBytes': ''\}\n"
    ],
    "fake-broker.md": [r"0 b'hello'\n\[\]\n"],
    "proxy.md": [r"\['orders'\]\n\{'hidden'\}\n"],
    "broker.md": [r"Fetch \(1\): version 9\nFalse\n", ""],
    "json.md": [
        r'\{"topics": \[\{"name": "t"\}\], "allowAutoTopicCreation": true, '
        r'"includeClusterAuthorizedOperations": false, "includeTopicAuthorizedOperations": false\}\n',
        r"t 5000\n"
        r'\{"topics":\[\{"name":"t","topicId":"A{22}"\}\],"timeoutMs":5000\}\n'
        r"topics 0 name Input should be a valid string\n"
        r"timeoutMs Input should be less than or equal to 2147483647\n",
        r"(?s:.*)^kwire FETCH 0 [\d.]+\nreplica_id=-1 max_wait_ms=(?s:.*)",
    ],
    "arrow.md": [
        r"int16 .+\n\[0, 27, 25\] \[None, 0, 0\]\n",
        r"\[None, 0, 0\]\nHeartbeatResponse v4, field throttle_time_ms, byte 0 of 1: int32 needs .+\n"
        r"\{'error_code': \[0, 27, 25\]\}\n",
        r"\{'offset': \[40, 41\], 'value': \[b'value', None\], 'producer_id': \[7, 7\]\}\n",
    ],
    "releases.md": [
        r"range\(3, 14\) range\(0, 14\)\n10\n"
        r"WriteTxnMarkers \(27\): none: client too old \(client 0, broker 1\)\n"
        r"LeaderAndIsr \(4\): none: broker \(client 0-1, broker none\)\n(?s:.*)"
        r"True 3\.1\.0 " + re.escape(RELEASES.newest.name) + r" stable\nlossy \(.*\n",
    ],
}
"""Page → what each of its Python examples prints, in order."""

RUN_ELSEWHERE = {"spark.md", "tables.md", "watch.md"}
"""Pages whose examples need Spark; the tests of Spark run them."""


def page(name: str) -> str:
    return README if name == "README.md" else (DOCS / name).read_text()


def examples(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page(name), re.DOTALL)


@pytest.mark.parametrize(
    ("name", "index"), [(name, index) for name in PRINTED for index in range(len(PRINTED[name]))]
)
def test_an_example_prints_what_it_should(name: str, index: int) -> None:
    command = [sys.executable, "-c", examples(name)[index]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.fullmatch(PRINTED[name][index], done.stdout, re.MULTILINE), done.stdout


def test_every_example_is_run() -> None:
    found = {name: len(examples(name)) for name in ["README.md", *(path.name for path in DOCS.glob("*.md"))]}
    assert {name: count for name, count in found.items() if count and name not in RUN_ELSEWHERE} == {
        name: len(printed) for name, printed in PRINTED.items()
    }


def test_the_tree_in_the_readme_is_what_the_command_prints() -> None:
    shown = re.search(r"\$ kwire (decode .*)\n((?:.+\n)+)```", README)
    assert shown is not None
    command = [sys.executable, "-m", "kwire", *shown[1].split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == shown[2]


def test_the_error_in_the_readme_is_a_real_one() -> None:
    topics = [MetadataRequestTopic(name=name) for name in ("orders", "payments")]
    with pytest.raises(DecodeError) as caught:
        MetadataRequest.decode(MetadataRequest(topics=topics).encode(12)[:-8], 12)
    assert f"```\n{caught.value}\n```" in README


def test_the_typo_in_the_readme_is_answered_like_that(tmp_path: Path) -> None:
    shown = re.search(r"```\n(error\[K101\].*?)```", README, re.DOTALL)
    assert shown is not None
    place = re.search(r"--> (\S+\.json):", shown[1])
    assert place is not None
    broken = tmp_path / place[1]
    broken.parent.mkdir(parents=True)
    broken.write_text((ROOT / place[1]).read_text().replace('"int32"', '"strng"', 1))
    command = [sys.executable, "-m", "kwirec", "check", place[1]]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shown[1] in result.stderr


def test_the_notation_page_has_every_attribute() -> None:
    names = {name for names in ATTRIBUTES.values() for name in names}
    assert not [name for name in names if f"`{name}`" not in page("definitions.md")]


def test_the_notation_page_begins_with_one_definition_in_both_notations() -> None:
    json_text, krammar = re.findall(r"```(?:jsonc|text)\n(.*?)```", page("definitions.md"), re.DOTALL)[:2]
    assert in_other_notation(json_text) == krammar
    assert in_other_notation(in_other_notation(krammar)) == krammar


@pytest.mark.parametrize("path", list(pages()), ids=lambda path: path.name)
def test_a_page_names_the_newest_release(path: Path) -> None:
    """``make docs`` writes it."""
    assert naming(RELEASES.newest.name, path.read_text()) == path.read_text()


def test_the_newest_release_is_named_where_it_is_meant() -> None:
    assert "from 0.8.0 to 9.1.0," in naming("9.1.0", README)
    assert naming("9.1.0", "`--target 4.1` means a line") == "`--target 4.1` means a line"
    assert naming("9.1.0", 'since 4.0, `readiness(clients(seen), "4.1.1")`') == (
        'since 4.0, `readiness(clients(seen), "9.1.0")`'
    )
    for before in ("from 2.2.0 to ", "newer than Kafka ", "readiness seen/ --target ", "submit_readiness.py "):
        assert naming("9.1.0", f"{before}4.1.1, since 4.0.0") == f"{before}9.1.0, since 4.0.0"


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "README.md").read_text()
    for path in [*DOCS.glob("*.md"), *(DOCS / "tutorials").glob("*.md")]:
        assert path == DOCS / "README.md" or f"]({path.relative_to(DOCS).as_posix()})" in index


def test_every_page_names_its_purpose_first_and_is_short() -> None:
    for path in [*DOCS.glob("*.md"), *(DOCS / "tutorials").glob("*.md")]:
        text = path.read_text()
        if path.name != "api.md":
            assert re.match(r"# .+\n\n(This (page|how-to|reference)|In this tutorial)\b", text), path
            assert len(text.splitlines()) <= 250, path


@pytest.mark.slow
def test_every_link_leads_to_a_file_or_heading() -> None:
    headings = {
        path: {heading.anchor for heading in read_prose(path.read_text()).headings}
        for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    }
    for path in headings:
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
        for file, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
            if "://" not in file:
                target = (path.parent / file).resolve() if file else path
                assert target.exists(), f"{path.relative_to(ROOT)} links to {file}"
                assert not anchor or anchor in headings[target], f"{path.relative_to(ROOT)} links to {file}#{anchor}"


def test_the_pages_of_commands_are_up_to_date() -> None:
    """``make docs`` writes them."""
    assert {path.name: path.read_text("utf-8") for path in FOLDER.iterdir()} == command_pages()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kwire", "kwirec"])
def test_the_commands_agree_on_help_and_version(name: str) -> None:
    def printed(option: str) -> str:
        return subprocess.run([sys.executable, "-m", name, option], capture_output=True, text=True, check=True).stdout

    speed = {"kwire": " (native)" if kwire.is_native() else " (interpreted)"}.get(name, "")
    assert printed("--version") == f"{name} {kwire.__version__}{speed}\n"
    assert printed("-h") == printed("--help")
    assert printed("-h").lower().startswith(f"usage: {name} ")


LIMITS = {
    "files of settings, passwords": ("kwire.client.files.MAX_FILE",),
    "silent port": ("kwire.client.client.HTTP_SECONDS",),
    "decompressed batch": ("kwire.compression.DEFAULT_LIMIT",),
    "records and headers of a batch": ("kwire.records.loops.MAX_OBJECTS",),
    "errors of a segment": ("kwire.logs.segment.MAX_ERRORS", "kwire.logs.window.WINDOW"),
    "response of a broker": ("kwire.command.connecting.MAX_RESPONSE", "kwire.client.client.MAX_RESPONSE"),
    "JSON for `kwire encode`": ("kwire.command.json_input.MAX_BODY", "kwire.command.json_input.MAX_VALUES"),
    "lines of a message in a trace": ("kwire.trace.spans.MAX_SPANS",),
    "records of a batch in a trace": ("kwire.trace.batches.MAX_RECORDS",),
    "records of all compressed": ("kwire.trace.batches.MAX_COUNTED", "kwire.trace.batches.MAX_DECOMPRESSED"),
    "input of `kwire decode`": ("kwire.command.input_bytes.MAX_INPUT",),
    "lines that `kwire decode`": ("kwire.command.decode.MAX_LINES", "kwire.trace.spans.MAX_SPANS"),
    "message that `--format message`": ("kwire.command.decode.MAX_DECODED",),
    "levels of structs": ("kwirec.validation.types.MAX_NESTING",),
    "fields of a message": ("kwirec.validation.types.MAX_FIELDS", "kwirec.validation.types.MAX_LAYOUT_FIELDS"),
    "versions of a message": ("kwirec.validation.versions.MAX_VALID_VERSIONS",),
    "files in an archive": ("kwirec.diagnostics.reading.MAX_MEMBERS",),
    "definitions compiled together": ("kwirec.diagnostics.reading.MAX_BYTES",),
    "findings of a run": ("kwirec.diagnostics.diagnostic.MAX_FINDINGS",),
    "message, frame, record value": ("kwire.frames.MAX_DECODED", "kwire.interpreter.large.MAX_VALUES"),
    "header of a frame": ("kwire.protocol.MAX_HEADER",),
    "record in tables": ("kwire_inspect.segments.rows.MAX_RECORD",),
    "line of a log": ("kwire_inspect.text_logs.lines.LONGEST",),
    "tunnels around": (
        "kwire_inspect.capture.walk.MAX_TUNNELS",
        "kwire_inspect.capture.walk.MAX_HEADERS",
    ),
    "waiting IP fragments": (
        "kwire_inspect.capture.unwrapping.MAX_BYTES",
        "kwire_inspect.capture.unwrapping.MAX_DATAGRAMS",
    ),
    "key log": ("kwire_inspect.tls.decryption.MAX_BYTES",),
    "waiting bytes of TLS": (
        "kwire_inspect.tls.decryption.HELD",
        "kwire_inspect.tls.connection.MAX_HELD",
    ),
    "packets that wait": (
        "kwire_inspect.capture.tcp.HELD",
        "kwire_inspect.capture.ordering.MAX_BYTES",
    ),
    "open connections of a capture": ("kwire_inspect.capture.tcp.MAX_CONNECTIONS",),
    "packet size": ("kwire_inspect.capture.packet_files.LONGEST",),
    "name of a client": (
        "kwire_inspect.connections.request_context.LONGEST",
        "kwire_inspect.tables.clients.MAX_IDENTITY",
    ),
    "window of a zstd file": ("kwire_inspect.storage.decompression.MAX_WINDOW",),
    "decompressed file": (
        "kwire_inspect.storage.decompression.MAX_FREE",
        "kwire_inspect.storage.decompression.MAX_RATIO",
    ),
    "dump of metrics": (
        "kwire_inspect.text_logs.dumps.MAX_VALUES",
        "kwire_inspect.text_logs.dumps.MAX_JSON",
    ),
    "a listing of a store": (
        "kwire_inspect.storage.stores.MAX_LISTING_SECONDS",
        "kwire_inspect.storage.stores.MAX_LISTING_BYTES",
    ),
    "archives: decompressed bytes": (
        "kwire_inspect.storage.archives.MAX_BYTES",
        "kwire_inspect.storage.archives.MAX_ZEROS",
        "kwire_inspect.storage.archives.MAX_MEMBERS",
    ),
    "standard input": ("kwire_inspect.storage.places.PEEK",),
    "the same per connection": ("kwire_spark.streams.ends.STATE",),
}
"""How a row of the tables in `docs/security.md` begins, with the constants whose values it states."""
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "minutes": 60}
KIT = {
    "fake-broker.md": {
        r"limited to (\d[\d,]*) partitions": "cluster.MAX_PARTITIONS",
        r"partitions, (\d[\d,]*) groups": "cluster.MAX_NAMES",
        r"(\d[\d,]*) members": "groups.members.MAX_MEMBERS",
        r"(\d[\d,]*) transactional ids": "transactions.MAX_NAMES",
        r"After (\d+ GiB) of batches": "log.MAX_STORED",
        r"newest (\d+ MiB)": "cluster.MAX_KEPT",
        r"(\d[\d,]*) characters per topic": "cluster.MAX_CONFIGS",
        r"a heartbeat every (\d[\d.]*) s,": "groups.consumer.HEARTBEAT",
    },
    "proxy.md": {r"At most (\d+) requests per connection wait": "proxy.MAX_WAITING"},
}
"""Pages of the test kit, with what surrounds a limit and the constant of `kwire_testing` whose value it states."""


def amounts(text: str) -> list[float]:
    found = re.findall(rf"(\d[\d,]*(?:\.\d+)?)(?: ({'|'.join(UNITS)}))?", text)
    return [float(number.replace(",", "")) * UNITS.get(unit, 1) for number, unit in found]


def value_of(constant: str) -> object:
    module, _, name = constant.rpartition(".")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("row", LIMITS)
def test_limits_are_those_that_the_page_of_security_states(row: str) -> None:
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    (cell,) = re.findall(rf"^\| {re.escape(row)}.*? \| (.*?) \|", text, re.MULTILINE)
    stated = amounts(re.sub("`[^`]*`", "", cell))
    for name in LIMITS[row]:
        assert value_of(name) in stated, (name, cell)


@pytest.mark.parametrize("name", KIT)
def test_limits_are_those_that_the_pages_of_the_test_kit_state(name: str) -> None:
    text = " ".join(page(name).split())
    for pattern, constant in KIT[name].items():
        (stated,) = re.findall(pattern, text)
        assert amounts(stated) == [value_of(f"kwire_testing.{constant}")], pattern
