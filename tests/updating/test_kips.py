"""Comments of Kafka's definitions say which versions a KIP made."""

from __future__ import annotations

from tools.kips import kips

COMMENTS = """\
// KIP-1 stands before any version.
// Version 1 adds a field (KIP-12).
//
// Versions 3-5 are KIP-34
// and, on the next line, KIP-35.
{ "name": "A", "about": "Version 2 is no comment: KIP-2" }
  // KIP-3 is after the comment.
  // Starting from version 7, it is flexible (KIP-482, KIP-483).
  // Verison 8 and 9 are the same. KIP-89
  // In version 9 the words begin otherwise: KIP-90
"""


def test_a_kip_is_of_the_versions_that_begin_its_comment() -> None:
    found = [(12, [1]), (34, [3, 4, 5]), (35, [3, 4, 5]), (482, [7]), (483, [7]), (89, [8, 9]), (90, [8, 9])]
    assert list(kips(COMMENTS)) == [(version, kip) for kip, versions in found for version in versions]
