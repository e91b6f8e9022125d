"""Finds the addresses of changed parts in a guide, which describes the new side."""

from __future__ import annotations

from kwirec.diff.changes import AnyMessageChange, Change, EnumChange, FieldChange, ValueChange, VersionAdded
from kwirec.guide import enum_place, field_place, place_of
from kwirec.ir.sites import FieldSite


def address_of(change: Change) -> str:
    """Return the address of the changed part relative to the guide's folder. If the new side lacks the part, return
    an empty string.

    The address points to the changed field in the newest changed version that the new side still has.
    """
    if isinstance(change, EnumChange):
        value = change.after.name if isinstance(change, ValueChange) and change.after else None
        return enum_place(change.new.name, value) if change.new else ""
    if not isinstance(change, AnyMessageChange) or change.new is None or not change.new.message.valid:
        return ""
    message = change.new.message
    version = max(change.versions.intersection(message.valid), default=None)
    before = change.before if isinstance(change, VersionAdded) else None
    if version is None or (before is not None and before not in message.valid):
        before = None
    return place_of(message, version, before, field=_field_of(change))


def _field_of(change: AnyMessageChange) -> str:
    """Return the place of the changed field, or an empty string if no version on the new side has it."""
    site = change.after if isinstance(change, FieldChange) else None
    return place_of_site(site) if site else ""


def place_of_site(site: FieldSite) -> str:
    """Return the place of a field on the page of its message, or an empty string if no version has it."""
    return field_place(site.message, site.path) if site.path else ""
