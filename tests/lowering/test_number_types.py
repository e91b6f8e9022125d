"""A number of fixed size is a row of ``kwire_rules.FIXED``: all else follows from it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = r"""
import sys, types
import kwire_rules

source = open(kwire_rules.__file__).read()
exec(source.replace('    "uuid": (', '    "float32": ("float", "f", 4),\n    "uuid": (', 1), vars(kwire_rules))

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.modules import group_modules
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import lower

text = '''{"type": "data", "name": "Clock", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [
    {"name": "Drift", "type": "float32", "versions": "0+"},
    {"name": "Drifts", "type": "[]float32", "versions": "1+", "default": null, "nullableVersions": "1+"}]}'''
schema = resolve([parse(Source("Clock.json", text), report := Report())], report)
(group,) = group_modules(schema)
module = sys.modules["clocks"] = types.ModuleType("clocks")
exec(emit_module(group, lower(schema).halves).text, vars(module))

import kwire.arrow.schema, kwire.models.kinds
from kwire import interpreter
from kwire.json_form import from_json

clock = module.Clock(drift=0.5, drifts=[1.0, -2.0])
data = clock.encode(1)
print(data.hex(), data == interpreter.encode(clock, 1), module.Clock.decode(data, 1) == clock)
print(from_json(module.Clock, clock.to_json(1), 1) == clock, module.Clock().drift)
print(kwire.arrow.schema.SCALARS["float32"], "float32" in kwire.models.kinds.KINDS)
"""


@pytest.mark.slow
def test_a_row_of_the_table_is_a_number_everywhere() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "3f000000033f800000c000000000 True True",
        "True 0.0",
        "float True",
    ], done.stderr
