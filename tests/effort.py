"""How many examples Hypothesis tries, in proportion to the profile that ``conftest.py`` loaded."""

from __future__ import annotations

from hypothesis import settings


def examples(share: float) -> settings:
    """Decorates a property whose examples cost more than usual, or less: ``share`` of the profile's examples."""
    assert settings.default is not None
    return settings(max_examples=max(1, round(share * settings.default.max_examples)))
