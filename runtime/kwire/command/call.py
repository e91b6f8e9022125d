"""``kwire call``: send a request to a broker, and print the response."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kwire.command.connecting import EXIT_CODES, connecting, talk
from kwire.command.json_input import built, json_option, read_json
from kwire.command.names import api_key, notes
from kwire.command.options import PROTOCOL, SECRETS, Options, epilog, put, put_json
from kwire.errors import DecodeError, UnknownNameError
from kwire.protocol import registry
from kwire.redaction import redacted
from kwire.schema import valid_version
from kwire.trace.batches import RecordsBudget, expand_records
from kwire.trace.frames import trace_response
from kwire.trace.view import show
from kwire_rules import printable

if TYPE_CHECKING:
    from kwire.client import Client

_EPILOG = f"""\
examples:
  kwire call localhost:9092 Metadata
  kwire call localhost:9092 Metadata --version 12 --json '{{"topics": [{{"name": "orders"}}]}}'
  kwire call localhost:9092 DescribeConfigs --json @request.json --trace
  vault read … | kwire call localhost:9092 AlterConfigs --json -
{EXIT_CODES}"""


@click.command(epilog=epilog(_EPILOG))
@connecting
@click.argument("api")
@click.option("--version", type=int, help="Version of the request.  [default: the newest that both sides support]")
@json_option("request")
@click.option("--trace", is_flag=True, help="Print the response as an annotated tree.")
@SECRETS
@PROTOCOL
def call(**values: Any) -> int:
    """Send a request in any version to the broker at ADDRESS, and print the response.

    Print Kafka's JSON form, or a tree with --trace. API is the name or number of the API. ADDRESS is HOST:PORT. The
    default port is 9092.
    """
    options = Options(**values)
    try:
        protocol = registry(options.protocol)
        request = protocol.request(api_key(protocol, options.api))
        if options.version is not None:
            valid_version(request, options.version)
        value = read_json(options.json)
    except (ImportError, OSError, UnknownNameError, ValueError, RecursionError) as problem:
        options.error(printable(str(problem)))

    async def called(client: Client) -> int:
        version = client.version(request) if options.version is None else options.version
        message = built(request, value, version)
        try:
            response = await client.call(message, version)
        except DecodeError as error:
            if not options.trace:
                raise
            payload, answered = error.data, version
        else:
            payload, answered = response.data, response.version
        if options.trace:
            return _print_tree(options, payload, message.API_KEY or 0, answered)
        assert response.message is not None
        shown = response.message if options.secrets == "show" else redacted(protocol, response.message)
        put_json(shown.to_json(answered))
        return 0

    return talk(options, protocol, called)


def _print_tree(options: Options, payload: bytes, key: int, version: int) -> int:
    protocol = registry(options.protocol)
    found = trace_response(protocol, payload, key, version, expand=partial(expand_records, left=RecordsBudget()))
    if options.secrets == "show":
        found.reveal()
    put(show(found, notes(protocol, options.protocol))[:-1])
    return 1 if found.error else 0
