"""Conditions on versions say what they should, for every version."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.emitters.codec_nodes import ALWAYS, NEVER, condition
from kwirec.versions import runs_by

SPAN = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted)


@pytest.mark.slow
@given(among=SPAN, live=SPAN)
def test_condition_selects_exactly_the_live_versions(among: list[int], live: list[int]) -> None:
    versions = list(range(among[0], among[1] + 1))
    wanted = [v for v in versions if live[0] <= v <= live[1]]
    text = condition(wanted, versions)
    if text == ALWAYS:
        assert wanted == versions
    elif text == NEVER:
        assert not wanted
    else:
        assert [v for v in versions if eval(text, {"version": v})] == wanted


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_runs_cut_where_the_key_changes(keys: list[str]) -> None:
    found = list(runs_by(range(len(keys)), lambda v: keys[v]))
    assert [v for run in found for v in run] == list(range(len(keys)))
    assert all(len({keys[v] for v in run}) == 1 for run in found)
    assert all(keys[a[0]] != keys[b[0]] for a, b in itertools.pairwise(found))
