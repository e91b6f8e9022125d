"""A store of objects on loopback that speaks as much of S3 as readers need, with the faults that tests ask for.

``tests/e2e_stores`` reads the same inputs from a server that others wrote.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest

Fault = Callable[["Request"], tuple[int, str] | None]
"""The status and the error code to answer a request with; ``None`` for what it asks for."""


NOWHERE = "http://127.0.0.1:1"
"""The endpoint of a store that is not there: nothing listens on this port."""

SECONDS = count(1_700_000_000, 5)


@dataclass(frozen=True, slots=True)
class Request:
    """``key`` has the bucket and the object; of a listing, the bucket alone. ``number`` counts those of its kind."""

    method: str
    key: str
    query: dict[str, str]
    number: int


@dataclass
class Store:
    """Objects by bucket and key, such as ``bucket/folder/a.pcap``. Listings have ``page`` keys each."""

    objects: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    page: int = 1000
    fault: Fault = lambda request: None
    requests: list[Request] = field(default_factory=list)
    endless: bool = False
    """Whether listings begin again where they should end."""
    listed_late: int = 0
    """Seconds by which listings say that objects were written later."""
    ranges: bool = True
    """Whether a part of an object is sent for a part; or else the whole."""
    served: int = 0
    """Bytes of objects that were sent."""
    port: int = 0

    def put(self, key: str, data: bytes) -> None:
        """Write an object, five seconds after the one before it."""
        self.objects[key] = data, next(SECONDS)

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the store be that of this process and of those that it starts."""
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{self.port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@contextmanager
def serving() -> Iterator[Store]:
    """A store on a port of its own within a ``with`` block."""
    store = Store()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(store))
    store.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(store: Store) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True  # else the body waits 40 ms for the client to acknowledge the headers
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def do_PUT(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_DELETE(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _answer(self) -> None:
            address = urlsplit(self.path)
            key = unquote(address.path).strip("/")
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
            number = sum((one.method, one.key) == (self.command, key) for one in store.requests)
            request = Request(self.command, key, query, number)
            store.requests.append(request)
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            if (failed := store.fault(request)) is not None:
                self._fail(*failed)
            elif self.command == "DELETE":
                store.objects.pop(key, None)
                self._send(204, b"")
            elif self.command in ("PUT", "POST"):
                self._write(key, address.query, body)
            elif "list-type" in query:
                self._send(200, listing(store, key, query))
            elif any(name.startswith(f"{key}/") for name in store.objects) and "/" not in key:
                self._send(200, b"")
            elif key not in store.objects:
                self._fail(404, "NoSuchKey" if "/" in key else "NoSuchBucket")
            else:
                self._object(*store.objects[key])

        def _write(self, key: str, query: str, body: bytes) -> None:
            """A step of an upload, in one part or at once."""
            if self.command == "PUT":
                store.put(key, body)
            step = "Initiate" if query.startswith("uploads") else "Complete"
            result = f"{step}MultipartUploadResult"
            self._send(200, f"<{result}><UploadId>1</UploadId><ETag>1</ETag></{result}>".encode(), {"ETag": "1"})

        def _object(self, data: bytes, changed: float) -> None:
            headers = {
                "ETag": f'"{changed:.0f}-{len(data)}"',
                "Last-Modified": formatdate(changed, usegmt=True),
            }
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if span is None or not store.ranges:
                self._send(200, data, headers)
            elif int(span[1]) >= len(data):
                self._fail(416, "InvalidRange")
            else:
                part = data[int(span[1]) : int(span[2]) + 1]
                headers["Content-Range"] = f"bytes {span[1]}-{int(span[1]) + len(part) - 1}/{len(data)}"
                self._send(206, part, headers)

        def _fail(self, status: int, code: str) -> None:
            self._send(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())

        def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                store.served += len(body) if headers else 0
                with suppress(ConnectionError):  # a client that has no use for the rest
                    self.wfile.write(body)

    return Handler


def listing(store: Store, bucket: str, query: dict[str, str]) -> bytes:
    """A page of ListObjectsV2."""
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    found: dict[str, str] = {}
    for name, (data, changed) in store.objects.items():
        key = name.removeprefix(f"{bucket}/")
        if key == name or not key.startswith(prefix):
            continue
        folder, slash, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
        if slash:
            shown = f"{prefix}{folder}/"
            found[shown] = f"<CommonPrefixes><Prefix>{escape(shown)}</Prefix></CommonPrefixes>"
        else:
            time = datetime.fromtimestamp(changed + store.listed_late, UTC).strftime("%Y-%m-%dT%H:%M:%S.789Z")
            found[key] = (
                f"<Contents><Key>{escape(key)}</Key><LastModified>{time}</LastModified>"
                f"<Size>{len(data)}</Size></Contents>"
            )
    keys = sorted(key for key in found if key > query.get("continuation-token", ""))
    page = keys[: min(store.page, int(query.get("max-keys", 1000)))]
    more = store.endless or len(page) < len(keys)
    last = "!" if store.endless else page[-1] if page else ""
    token = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>" if more else ""
    shown = "".join(found[key] for key in page)
    return (
        f"<ListBucketResult><Name>{bucket}</Name><KeyCount>{len(page)}</KeyCount>"
        f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{shown}</ListBucketResult>"
    ).encode()
