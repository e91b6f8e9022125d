"""The public names: all are documented, and ``docs/api.md`` lists them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import kwire
from tests.api_reference import PUBLIC_MODULES, Name, page, public_names

pytestmark = pytest.mark.skipif(kwire.is_native(), reason="native classes have no docstrings")
PAGE = Path(__file__).parent.parent / "docs" / "api.md"


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `make docs`"


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_name_is_described_by_a_sentence(module: str) -> None:
    def check(name: Name) -> None:
        words = name.sentence.split()
        assert len(words) > 1, f"{name.full} has no docstring"
        assert name.sentence.endswith((".", "?")), f"{name.full}: {name.sentence}"
        assert words[0][0].isupper() or words[0][0] in "`0123456789", f"{name.full}: {name.sentence}"
        for member in name.members:
            check(member)

    for name in public_names(module):
        check(name)


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_all_is_without_duplicates_and_is_what_dir_shows(module: str) -> None:
    home = import_module(module)
    assert len(set(home.__all__)) == len(home.__all__)
    assert set(home.__all__) <= set(dir(home))
