"""How inputs are broken: bits, pieces and lengths."""

from __future__ import annotations

from random import Random

HUGE = (
    b"\x7f\xff\xff\xff",  # the largest int32, and an int16 of 32767
    b"\x7f\xff",
    b"\x80\x00\x00\x00",  # the smallest, and a zero in two bytes of a varint
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\x07",  # the largest varint that is not negative
    b"\xff\xff\xff\xff\x0f",  # minus one
    b"\xff\xff\xff\xff\x7f",  # bits that fall off
    b"\x80\x80\x80\x80\x08",  # the smallest negative varint
    b"\x80\x80\x80\x80\x80\x01",  # too long
    b"\x00\x10\x00\x00",
    b"\x80\x80\x40",  # a million
    b"\x80\x00",
    b"\x81\x00",
    b"\x80\x80\x00",
)


def mutate(data: bytes, other: bytes, random: Random) -> bytes:
    """``data`` with one to three things wrong, most often one."""
    for _ in range((1, 1, 1, 2, 3)[int(random.random() * 5)]):
        action = int(random.random() * 11)
        at = int(random.random() * (len(data) + 1))
        if action == 0:
            data = data[:at]
        elif action in (1, 9, 10) and at < len(data):
            data = data[:at] + bytes([data[at] ^ 1 << int(random.random() * 8)]) + data[at + 1 :]
        elif action == 2:
            huge = HUGE[int(random.random() * len(HUGE))]
            data = data[:at] + huge + data[at + len(huge) :]
        elif action == 3:
            data = data[:at] + HUGE[int(random.random() * len(HUGE))] + data[at + 1 :]
        elif action == 4:
            data = data[:at] + other[int(random.random() * (len(other) + 1)) :]
        elif action == 5:
            data = data[:at] + random.randbytes(int(random.random() * 6)) + data[at:]
        elif action == 6:
            data = data[:at] + data[at + 1 + int(random.random() * 8) :]
        elif action == 7:
            data = data[:at] + data[at // 2 : at] + data[at:]
        elif action == 8:
            data = data[:at] + random.randbytes(1 + int(random.random() * 12))
    return data
