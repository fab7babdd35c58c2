"""What a connection keeps: prepared statements by name, and portals, which cursors are, too; with limits on both."""

from __future__ import annotations

from collections.abc import Callable

from sqlpriv.doors.server.portals import Portal, Prepared
from sqlpriv.doors.server.replies import NO_PORTAL, NO_STATEMENT, ReplyError

_MOST_KEPT = 1000
_MOST_BYTES = 64 << 20


class Kept:
    """Prepared statements and portals; the one without a name is replaced by the next."""

    def __init__(self) -> None:
        self._prepared: dict[str, Prepared] = {}
        self._portals: dict[str, Portal] = {}

    def statement(self, name: str) -> Prepared:
        """A prepared statement."""
        if name not in self._prepared:
            raise ReplyError(NO_STATEMENT, "there is no such prepared statement", "prepare it first")
        return self._prepared[name]

    def portal(self, name: str) -> Portal:
        """A portal, or a cursor."""
        if name not in self._portals:
            raise ReplyError(NO_PORTAL, "there is no such portal or cursor", "bind it first, or declare it")
        return self._portals[name]

    def make_room_for_statement(self, name: str) -> None:
        """One more is to be prepared: refused if there are too many, or it has the name of another."""
        _refuse_many(self._prepared, name)
        if name and name in self._prepared:
            raise ReplyError("42P05", f"there is already a prepared statement {name!r}", "close it first")
        self._prepared.pop(name, None)

    def make_room_for_portal(self, name: str) -> None:
        """One more is to be opened: refused if there are too many, or it has the name of another."""
        _refuse_many(self._portals, name)
        if name and name in self._portals:
            raise ReplyError("42P03", f"there is already a portal or cursor {name!r}", "close it first")
        self.close_portal(name)

    def keep_statement(self, name: str, prepared: Prepared) -> None:
        """A statement that was prepared."""
        self._prepared[name] = prepared

    def keep_portal(self, name: str, portal: Portal) -> None:
        """A portal that was opened."""
        self._portals[name] = portal

    def close_statement(self, name: str) -> None:
        """It is not needed any more; nor need it be there."""
        self._prepared.pop(name, None)

    def close_statements(self) -> None:
        """None is needed any more."""
        self._prepared.clear()

    def close_portal(self, name: str) -> None:
        """It is not needed any more; nor need it be there."""
        if (portal := self._portals.pop(name, None)) is not None:
            portal.close()

    def close_portals(self, ends: Callable[[Portal], bool] = lambda _: True, but: Portal | None = None) -> None:
        """Those that end are not needed any more, `but` the one whose statement says so: it is not done yet."""
        for name in [name for name, portal in self._portals.items() if portal is not but and ends(portal)]:
            self.close_portal(name)

    def end_transaction(self, is_committed: bool, but: Portal) -> None:
        """Portals end with their transaction; a cursor WITH HOLD does not, once it is committed."""
        self.close_portals(lambda portal: not (portal.is_committed or (is_committed and portal.is_held)), but)
        for portal in self._portals.values():
            portal.is_committed = portal is not but


def _refuse_many(kept: dict[str, Prepared] | dict[str, Portal], name: str) -> None:
    if len(kept) >= _MOST_KEPT and name not in kept:
        raise ReplyError("53400", f"there are {_MOST_KEPT} prepared statements or portals", "close some")
    if sum(each.size for each in kept.values()) > _MOST_BYTES:
        said = f"prepared statements or portals hold more than {_MOST_BYTES >> 20} MiB"
        raise ReplyError("53400", said, "close some")
