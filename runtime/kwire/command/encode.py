"""``kwire encode``: convert a message from Kafka's JSON form to hex."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kwire.command.json_input import built, json_option, read_json
from kwire.command.names import api_key
from kwire.command.options import PROTOCOL, Options, epilog, put
from kwire.errors import EncodeError, UnknownNameError
from kwire.frames import frame
from kwire.json_form import JsonFormError
from kwire.protocol import registry
from kwire.schema import valid_version
from kwire_rules import printable

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

_EPILOG = """\
examples:
  kwire encode Metadata --version 12 --json '{"topics": [{"name": "orders"}]}'
  kwire encode Heartbeat --json @request.json --frame --client-id test
  kwire decode --message TopicRecord --version 0 --format message FILE | kwire encode TopicRecord --version 0 --json -

exit codes: 0 success, 2 usage error or a value that the version cannot represent
"""


@click.command(epilog=epilog(_EPILOG))
@click.argument("name")
@click.option("--version", type=int, help="Version of the message.  [default: the newest]")
@json_option("message")
@click.option("--header", is_flag=True, help="Add the header of a request or response.")
@click.option("--frame", is_flag=True, help="Add the header and the size.")
@click.option("--correlation-id", type=int, metavar="ID", help="Correlation id of the header.  [default: 0]")
@click.option("--client-id", metavar="ID", help="Client id in the header of a request.  [default: null]")
@PROTOCOL
def encode(**values: Any) -> int:
    """Convert a message from JSON to hex.

    NAME is a message name. The name or number of an API selects its request.
    """
    options = Options(**values)
    try:
        protocol = registry(options.protocol)
        cls = _message(protocol, options.name)
        version = cls.VALID_VERSIONS[-1] if options.version is None else valid_version(cls, options.version)
        data = _encoded(protocol, built(cls, read_json(options.json), version), version, options)
    except (
        EncodeError,
        ImportError,
        JsonFormError,
        OSError,
        RecursionError,
        UnknownNameError,
        ValueError,
    ) as problem:
        options.error(printable(str(problem)))
    put(data.hex())
    return 0


def _message(protocol: MessageRegistry, name: str) -> type[Message]:
    return protocol[name] if name in protocol else protocol.request(api_key(protocol, name))


def _encoded(protocol: MessageRegistry, message: Message, version: int, options: Options) -> bytes:
    name = type(message).__name__
    is_request = name.endswith("Request")
    if options.client_id is not None and not is_request:
        raise ValueError(f"--client-id is only valid for a request, not for {name}")
    if not options.header and not options.frame:
        if options.correlation_id is not None or options.client_id is not None:
            raise ValueError("--correlation-id and --client-id require --header or --frame")
        return message.encode(version)
    number = options.correlation_id or 0
    if is_request:
        data = protocol.encode_request(message, version, correlation_id=number, client_id=options.client_id)
    else:
        data = protocol.encode_response(message, version, correlation_id=number)
    return frame(data) if options.frame else data
