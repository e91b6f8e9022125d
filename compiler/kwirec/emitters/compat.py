"""Emits the facts about versions that accompany the codecs: releases and compatibility."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kwirec.emitters.compat_data import emit_compat
from kwirec.emitters.compat_matrix import message_matrix
from kwirec.emitters.compat_pages import emit_pages
from kwirec.emitters.environment import Artifact
from kwirec.emitters.modules import ModuleGroup
from kwirec.emitters.negotiations import negotiations
from kwirec.emitters.releases import emit_releases
from kwirec.lowering import Layouts
from kwirec.merge.history import History, read_history


def emit_compatibility(
    layouts: Layouts, groups: Sequence[ModuleGroup], history: History, *, package: str
) -> list[Artifact]:
    """``releases.py`` if releases are known, ``compat.json`` with its module, and the pages in ``matrix/``."""
    matrices = {m.name: message_matrix(m, layouts) for group in groups for m in group.messages}
    apis = negotiations(history)
    artifacts = [emit_releases(history, matrices.values(), package=package)] if history.releases else []
    artifacts += emit_compat(list(matrices.values()), history, apis, package=package)
    artifacts += emit_pages(groups, matrices, history, apis, package=package)
    return artifacts


def history_of(paths: Iterable[Path]) -> History:
    """The history in the first of the definition folders that has one; an empty history if none has."""
    found = (history for path in paths if path.is_dir() and (history := read_history(path)).releases)
    return next(found, History())
