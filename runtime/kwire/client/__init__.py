"""A small asyncio client for one broker: connect, authenticate, call.

::

    sasl = Sasl(mechanism="SCRAM-SHA-512", username="alice", password="secret")
    security = Security(tls=tls_context(ca="ca.pem"), sasl=sasl)
    async with await connect("broker.example", 9093, PROTOCOL, security=security) as client:
        response = await client.call(MetadataRequest(topics=[]))
        print(response.expect(MetadataResponse).cluster_id)

The client does not discover other brokers or renew sessions, and it sends one request at a time. To do more, use
``kwire.connection``, on which the client is built.
"""

from kwire.client.ask import ask
from kwire.client.client import Client, connect, parse_address
from kwire.client.errors import AuthenticationError, BrokerError, SecurityError
from kwire.client.sasl import Sasl
from kwire.client.security import Security, read_properties, tls_context

__all__ = [
    "AuthenticationError",
    "BrokerError",
    "Client",
    "Sasl",
    "Security",
    "SecurityError",
    "ask",
    "connect",
    "parse_address",
    "read_properties",
    "tls_context",
]
