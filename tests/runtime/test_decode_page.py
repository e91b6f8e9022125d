"""``kwire decode --html`` and ``--link``: every byte is shown, nothing hostile is, and links lead to the guide."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.frames import frame
from kwire.guide import Guide
from kwire.records import Record, encode_batch
from kwire.trace import expand_records, page, trace_message, trace_request
from kwire.trace.json_spans import trace_json
from kwire.trace.page import MAX_BYTES, ROW, addresses, trace_page
from kwire_kafka import (
    PROTOCOL,
    EnvelopeRequest,
    FetchRequest,
    HeartbeatRequest,
    OffsetCommitValue,
    ProduceRequest,
    SaslAuthenticateRequest,
)
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.releases import RELEASES
from tests.runtime.test_inspect_command import run  # noqa: F401
from tests.support.browser import BROWSER, told

HERE = Guide("", PROTOCOL)
THERE = Guide("https://a.example/", PROTOCOL)
REQUEST = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=7, client_id="c")


def digits(page: str) -> str:
    """The bytes of the dump of a page."""
    return "".join(re.findall(r"<b data-span=[^>]*>([^<]*)</b>", page)).replace(" ", "")


def produce() -> bytes:
    block = encode_batch([Record(offset=0, timestamp=0, key=b"k", value=b"v")])
    partition = PartitionProduceData(records=block)
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])
    return PROTOCOL.encode_request(request, 9, correlation_id=1, client_id="c")


@pytest.mark.parametrize("payload", [REQUEST, REQUEST[:-1], produce(), b"", b"\xff" * 40])
def test_every_byte_is_shown_once(payload: bytes) -> None:
    found = trace_request(PROTOCOL, payload, expand=expand_records)
    found.reveal()  # what is unknown may be a secret
    assert digits(trace_page({"": found}, HERE)) == payload.hex()


def test_texts_are_escaped_and_only_one_script_and_style_are_allowed() -> None:
    hostile = "<script>alert(1)</script>\u202e\"'"
    payload = PROTOCOL.encode_request(HeartbeatRequest(group_id=hostile), 4, correlation_id=7, client_id=hostile)
    page = trace_page({hostile: trace_request(PROTOCOL, payload)}, Guide('https://a.example/"<x>', PROTOCOL))
    assert page.count("<script") == page.count("<style") == 1
    assert "\u202e" not in page
    assert "<x>" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    for tag in ("script", "style"):
        text = page.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        assert f"{tag}-src 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy[1]


def test_all_of_a_page(monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion) -> None:
    """But for its style and script: rows, links, bytes and errors of two of everything, and what is left out."""
    monkeypatch.setattr(page, "_part", lambda name: f"({name})")
    monkeypatch.setattr(page, "MAX_SPANS", 83)  # as many as the first four have
    inner = PROTOCOL.encode_request(SaslAuthenticateRequest(auth_bytes=b"s3cret" * 4), 2, correlation_id=2)
    traces = {
        "": trace_request(PROTOCOL, produce(), expand=expand_records),
        "in an <Envelope>": trace_request(
            PROTOCOL, PROTOCOL.encode_request(EnvelopeRequest(request_data=inner), 0, correlation_id=1)
        ),
        "cut": trace_request(PROTOCOL, REQUEST[:-1]),
        "unknown": trace_request(PROTOCOL, b"\x01\xf4\0\2" + REQUEST[4:]),
        "full": trace_request(PROTOCOL, REQUEST),
        "fuller": trace_request(PROTOCOL, REQUEST),
    }
    made = trace_page(traces, THERE, lambda span: "a note" if span.name == "api_key" else "")
    assert made.replace(RELEASES.newest.name, "NEWEST") == snapshot


def test_secrets_are_dots() -> None:
    found = trace_message(SaslAuthenticateRequest, SaslAuthenticateRequest(auth_bytes=b"secret").encode(2), 2)
    page = trace_page({"": found}, HERE)
    assert b"secret".hex() not in digits(page)
    assert digits(page) == "07" + "·" * 12 + "00"
    found.reveal()
    assert b"secret".hex() in digits(trace_page({"": found}, HERE))


def test_the_size_of_a_secret_is_shown_once_wherever_a_row_ends() -> None:
    request = SaslAuthenticateRequest(auth_bytes=b"secret")
    for length in range(ROW):
        payload = PROTOCOL.encode_request(request, 1, correlation_id=7, client_id="c" * length)
        page = trace_page({"": trace_request(PROTOCOL, payload)}, HERE)
        assert digits(page) == payload[:-6].hex() + "·" * 12


def test_long_data_is_cut_and_says_so() -> None:
    found = trace_request(PROTOCOL, REQUEST + bytes(MAX_BYTES))
    page = trace_page({"": found}, HERE)
    assert len(digits(page)) == 2 * MAX_BYTES
    assert page.count('<span class="offset">') == MAX_BYTES // ROW
    assert f"and {len(REQUEST)} bytes more" in page


def test_fields_link_to_the_guide_and_records_do_not() -> None:
    found = trace_request(PROTOCOL, produce(), expand=expand_records)
    links = re.findall(r'<a href="([^"]*)" rel="noreferrer">([^<]*)</a>', trace_page({"": found}, THERE))
    at = "https://a.example/api/produce.html#request-v9"
    assert (at, "ProduceRequest v9") in links
    assert (f"{at}.topic_data.partition_data.records", "records") in links
    assert ("https://a.example/headers.html#request_header-v2.client_id", "client_id") in links
    assert ("https://a.example/headers.html#request_header-v2.request_api_key", "api_key") in links
    envelope = PROTOCOL.encode_request(EnvelopeRequest(request_data=REQUEST), 0, correlation_id=1)
    page = trace_page({"": trace_request(PROTOCOL, envelope)}, THERE)
    assert '<a href="https://a.example/api/heartbeat.html#request-v4.group_id" rel="noreferrer">group_id</a>' in page
    assert not [name for _, name in links if name in ("batch[0]", "crc", "tagged fields")]


def test_the_depth_of_a_row_is_limited_to_what_the_style_has() -> None:
    page = trace_page({"": trace_json(b"[" * 20 + b"]" * 20, "deep", None)}, HERE)
    depths = [int(depth) for depth in re.findall(r'<th scope="row" class="d(\d+)">', page)]
    assert depths == [*range(13), *[12] * 8]
    assert {f".d{depth}" for depth in depths if depth} <= {*re.findall(r"\.d\d+", page)}


def test_addresses_are_those_of_what_is_shown() -> None:
    assert addresses(trace_request(PROTOCOL, REQUEST), HERE) == ["api/heartbeat.html#request-v4"]
    broken = trace_request(PROTOCOL, REQUEST[:12])
    assert addresses(broken, HERE) == ["api/heartbeat.html#request-v4.group_id"]
    envelope = PROTOCOL.encode_request(EnvelopeRequest(request_data=REQUEST), 0, correlation_id=1, client_id="c")
    inside = ["api/envelope.html#request-v0", "api/heartbeat.html#request-v4"]
    assert addresses(trace_request(PROTOCOL, envelope), HERE) == inside
    cut = ["api/envelope.html#request-v0.client_host_address", "api/heartbeat.html#request-v4"]
    assert addresses(trace_request(PROTOCOL, envelope[:-2]), HERE) == cut


def test_every_message_has_an_address_in_every_version() -> None:
    for name in PROTOCOL:
        cls = PROTOCOL[name]
        for version in cls.VALID_VERSIONS:
            (address,) = addresses(trace_message(cls, b"", version), HERE)
            assert address.startswith(HERE.message(cls, version))
            assert f"-v{version}" in address


def test_the_command_prints_addresses_and_writes_a_page(run: Any, tmp_path: Path) -> None:  # noqa: F811
    file = tmp_path / "page.html"
    result = run("--link", "--html", str(file), (frame(REQUEST) * 2).hex())
    assert result.code == 0
    assert result.out.count("\napi/heartbeat.html#request-v4\n") == 2
    assert file.read_text("utf-8").count("<section") == 2
    assert "<h1>HeartbeatRequest v4</h1>" in file.read_text("utf-8")
    assert "<td>12  Heartbeat</td>" in file.read_text("utf-8")
    assert '"guide": [\n  "../site/api/heartbeat.html#request-v4"' in (
        run("--format", "json", "--link", "--guide-url", "../site", REQUEST.hex()).out
    )


@pytest.mark.parametrize(
    ("second", "code", "problems"),
    [(REQUEST, 0, 0), (REQUEST[:-1], 1, 1), (b"\x01\xf4\0\2" + REQUEST[4:], 3, 1)],
    ids=["good", "broken", "unknown"],
)
def test_a_page_is_written_whatever_the_frames_are(
    run: Any, tmp_path: Path, second: bytes, code: int, problems: int  # noqa: F811
) -> None:
    file = tmp_path / "page.html"
    assert run("--html", str(file), (frame(REQUEST) + frame(second)).hex()).code == code
    made = file.read_text("utf-8")
    assert re.findall(r'<h2 id="s\d-title">([^<]*)</h2>', made) == [
        "frame at byte 0, 25 bytes",
        f"frame at byte 25, {4 + len(second)} bytes",
    ]
    assert made.count('<p class="problem">') == problems


def test_records_of_internal_topics_have_an_address_each(run: Any, tmp_path: Path) -> None:  # noqa: F811
    value = b"\0\x03" + OffsetCommitValue(offset=5).encode(3)
    key = "0001 0001 67 0001 74 00000000"
    options = ("--topic", "__consumer_offsets", "--key", key.replace(" ", ""), "--value", value.hex())
    result = run(*options, "--link", "--html", str(tmp_path / "record.html"))
    assert (result.code, result.err) == (0, "")
    assert "coordinator/offset_commit.html#key-v0\n" in result.out
    assert "coordinator/offset_commit.html#value-v3\n" in result.out
    assert "OffsetCommitKey v0, OffsetCommitValue v3" in unescape((tmp_path / "record.html").read_text("utf-8"))


@pytest.mark.parametrize("options", [["--guide-url", "../site"], ["--link", "--guide-url", "javascript:x"]])
def test_what_has_no_effect_or_leads_nowhere_is_wrong_usage(run: Any, options: list[str]) -> None:  # noqa: F811
    assert run(*options, REQUEST.hex()).code == 2


def test_a_page_that_cannot_be_written_is_wrong_usage(run: Any, tmp_path: Path) -> None:  # noqa: F811
    assert run("--html", str(tmp_path), REQUEST.hex()).code == 2


@pytest.mark.slow
@pytest.mark.skipif(not BROWSER, reason="no browser is installed")
def test_a_byte_and_its_field_light_up_together(tmp_path: Path) -> None:
    data = FetchRequest(max_wait_ms=500).encode(12)
    page = trace_page({"": trace_message(FetchRequest, data, 12)}, HERE)
    script = """
    const row = [...document.querySelectorAll("tr")].find(tr => tr.textContent.includes("max_wait_ms"));
    const bytes = document.querySelector(`b[data-span="${row.dataset.span}"]`);
    bytes.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    const lit = [...document.querySelectorAll(".lit")].map(found => found.textContent);
    document.body.innerHTML = `<pre id="told">${JSON.stringify({ lit })}</pre>`;
    """
    file = tmp_path / "page.html"
    open_policy = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", page)
    file.write_text(open_policy.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    result = told(file.as_uri())
    assert result["lit"] == ["00 00 01 f4", "4max_wait_msint32500"]
    assert result["console"] == []
