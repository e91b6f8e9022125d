"""Small sets of files in the indentation notation: what messages get from other blocks, and all that is said."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.frontend import link, parse
from kwirec.frontend.json_writer import json_definition
from kwirec.ir import resolve
from tests.support.findings import told

ASK = "AskRequest => key 1, max version 2, flexible v1+\n"
LATE = "Late => not top level, no encoding\n  X: string\n"
FLAT = LATE.replace("encoding", "encoding, flexible v1+")
FILES = {
    "struct before its use": f"{LATE}\n{ASK}  A: [Late]\n",
    "struct after its use": f"{ASK}  A: [Late]\n  B: Late\n\n{LATE}",
    "flexible struct": f"{FLAT}\n{ASK}  A: [Late]\n\nTellRequest => key 2, max version 0\n  A: Late\n",
    "struct of a later file": f"{ASK}  A: [Late]\n--- 02\n{LATE}",
    "struct of an earlier file": f"{LATE}\n--- 02\n{ASK}  A: [Late] // v1+\n",
    "struct of two files": f"{LATE}\n--- 02\n{LATE.replace('X', 'Y')}\n{ASK}  A: Late\n",
    "struct twice in a file": f"{LATE}\n{LATE.replace('X', 'Y')}\n{ASK}  A: Late\n",
    "structs of structs": f"Top => not top level\n  A: [Late]\n  B: [Low]\n\nLow => not top level\n  C: int8 // v1+\n"
    f"--- 02\n{LATE}\n{ASK}  T: Top\n  N: nullable=>\n    L: Low\n",
    "inline struct of the name": f"{LATE}\n{ASK}  A: [=>Late]\n    Z: int8\n  B: [Late]\n",
    "struct that nobody uses": f"{LATE}\n{LATE.replace('Late', 'Lost')}\n{ASK}  A: Late\n",
    "struct that contains itself": f"Tree => not top level\n  A: [Tree] // v2+\n\n{ASK}  A: Tree\n",
    "structs of one message": f"{ASK}  A: Own\n\nOwn => not top level, of AskRequest, versions v1-v2\n  X: int8\n"
    "  Y: Inner\n\nInner => not top level, of AskRequest\n  Z: int8 // v2+, tag 0\n",
    "struct of a message elsewhere": f"{ASK}\n--- 02\nOwn => not top level, of AskRequest\n  X: int8\n",
    "struct of a response": f"{ASK}\nAskResponse =>\n  A: Own\n\nOwn => not top level, of AskResponse\n  X: string\n",
    "first of two enums": f"Kind int8 (\n  1: ONE\n)\n\n{ASK}  A: enum-Kind\n  B: =>\n    C: [enum-Kind]\n"
    "  D: Late\n\nLate => not top level\n  E: enum-Kind // v1+\n--- 02\nKind int16 (\n  2: TWO\n)\n",
    "unknown enum": f"{ASK}  A: [enum-Kidn]\n--- 02\nKind int16 (\n  2: TWO\n)\n",
    "highest version of fields": "Log => data, flexible v1+\n  A: int8 // v3+\n  B: int8 // v0-v5\n  C: =>\n"
    "    D: Low\n\nLow => not top level, of Log, versions v0-v7\n  E: nullable-string-v6+\n",
    "highest version of words": "Log => data, flexible v4+, deprecated v0-v2\n  A: int8\n",
    "no version at all": "Log => data\n  A: int8\n\nBare => data, flexible none\n",
    "versions of a request": f"{ASK.replace('max', 'min version 1, max')}  A: int8\n  B: =>\n    C: int8\n"
    "\nAskResponse =>\n  A: nullable[int8]\n",
    "response with words of its own": f"{ASK}\nAskResponse => flexible v2+, max version 1\n  A: int8\n",
    "response with its own flexible versions": f"{ASK}\nAskResponse => flexible v2+\n  A: int8 // tag 0\n",
    "response before its request": f"AskResponse =>\n  A: int8\n\n{ASK}",
    "response after another message": f"{ASK}\n{LATE}\nAskResponse =>\n  A: Late\n",
    "response of nobody": f"{ASK}\nTellResponse =>\n  A: int8\n",
    "response by its kind": f"{ASK}\nAnswer => response, max version 1\n  A: int8\n\nReply => response\n",
    "version fields": "Log => not top level, with version field\n  //# a note\n  // The version.\n  Version: int16\n"
    "  A: int8\n\nBad => not top level, with version field\n  A: int8\n\n"
    "None => not top level, with version field, data\n\n"
    "Wide => with version field, max version 3\n  Version: [int16]\n\nLate => with version field\n"
    "  Version: int16 // v1+\n",
    "reserved": "GoneRequest => key 3, reserved\n\nGoneResponse =>\n\nLostRequest => reserved, key 4, flexible v1+\n",
}  # fmt: skip


def outcome(texts: str, suffix: str) -> list[str]:
    """All messages after linking, on a line each, and all findings up to the names that are bound."""
    files = enumerate(texts.split("--- 02\n"), 1)
    report = Report()
    read = [parse(Source(f"0{number}{suffix}", text), report) for number, text in files]
    written = [
        " ".join(json_definition(one).split()) for document in link(read, Report()) for one in document.messages
    ]
    resolve(read, report)
    return [*written, *told(report.diagnostics, file=True).replace(suffix or ".krm", "").splitlines()]


def test_what_messages_get_from_other_blocks(snapshot: SnapshotAssertion) -> None:
    shown = []
    for case, texts in FILES.items():
        mine, other = (outcome(texts, suffix) for suffix in (".krm", ""))
        more = [f"franz-go: {one}" for one in other if one not in mine]
        less = [f"not franz-go: {one}" for one in mine if one not in other]
        shown += [case, *(f"    {one}" for one in (*mine, *more, *less))]
    assert "\n".join(shown) == snapshot
