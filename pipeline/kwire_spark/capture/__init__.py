"""Reads packet captures into ordered pieces of TCP streams, without Spark or Kafka.

Files of pcap and pcapng, plain or compressed, go in; a ``Piece`` for each run of bytes, gap and end of a connection
comes out, and a ``Broken`` for whatever is wrong with a file.
"""

from kwire_spark.capture.pieces import Broken, Connection, Peer, Piece
from kwire_spark.capture.reading import read_pieces
from kwire_spark.capture.tcp import TcpConnection

__all__ = ["Broken", "Connection", "Peer", "Piece", "TcpConnection", "read_pieces"]
