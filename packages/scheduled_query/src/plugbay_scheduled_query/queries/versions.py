"""The versions of a query as people look at them and bring one back."""

from plugbay_scheduled_query.core.draft import Refused
from plugbay_scheduled_query.core.model import Query
from plugbay_scheduled_query.core.versions import Version
from plugbay_scheduled_query.queries.editing import QueryEditing, Saved
from plugbay_scheduled_query.repository.versions import Versions


class UnknownVersion(Exception):
    """A version that is not there, perhaps no longer."""

    def __init__(self) -> None:
        super().__init__("there is no such version")


class QueryVersions:
    """What a definition was, and the way back to it."""

    def __init__(self, versions: Versions, editing: QueryEditing) -> None:
        self._versions = versions
        self._editing = editing
        self.page = versions.page

    def get(self, query: Query, number: int) -> Version:
        """One version of a query; raises UnknownVersion."""
        found = self._versions.get(query, number)
        if found is None:
            raise UnknownVersion
        return found

    def restore(self, query: Query, number: int, by: str | None) -> Saved | Refused:
        """Saves an older definition anew, if it passes the checks of today; raises UnknownVersion.

        What is in force already is no edit, and makes no version.
        """
        return self._editing.edit(query.id, self.get(query, number).definition, by)
