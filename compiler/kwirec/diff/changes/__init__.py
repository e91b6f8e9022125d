"""All kinds of changes."""

from kwirec.diff.changes.change import *  # noqa: F403
from kwirec.diff.changes.enums import *  # noqa: F403
from kwirec.diff.changes.fields import *  # noqa: F403
from kwirec.diff.changes.messages import *  # noqa: F403
from kwirec.diff.changes.tags import *  # noqa: F403
from kwirec.diff.changes.versions import *  # noqa: F403
