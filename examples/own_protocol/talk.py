"""A server that counts sentences, and a client that sends some. Both use the protocol in ``defs``."""

import asyncio
import sys
from collections import Counter

from chat import PROTOCOL, SayRequest, SayResponse

from kwire.connection import ClientConnection, RequestEvent, ResponseEvent, ServerConnection


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer each request with the number of sentences that this connection has sent to the room."""
    connection, heard = ServerConnection(PROTOCOL), Counter[str]()
    while data := await reader.read(1 << 16):
        for event in connection.receive(data):
            if isinstance(event, RequestEvent) and isinstance(event.message, SayRequest):
                heard[event.message.room] += 1
                writer.write(connection.send(event, SayResponse(heard=heard[event.message.room])))
    writer.close()


async def say(host: str, port: int, *sentences: str) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    connection = ClientConnection(PROTOCOL, client_id="example")
    writer.writelines(connection.send(SayRequest(text=text), version=1) for text in sentences)
    writer.write_eof()
    while data := await reader.read(1 << 16):
        for event in connection.receive(data):
            if isinstance(event, ResponseEvent) and isinstance(event.message, SayResponse):
                print("sentences so far:", event.message.heard)
    writer.close()


async def main(*sentences: str) -> None:
    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        await say(*server.sockets[0].getsockname(), *sentences)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
