"""A plugin in one file: a page, a form, a table, a setting and a gauge."""

from datetime import datetime
from typing import Annotated, Any

import sqlalchemy as sa
from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from plugbay import BaseModule, CurrentUser, FlashMessage, Plugbay, UTCDateTime, flash, new_metadata
from pydantic import BaseModel, Field

notes = sa.Table(
    "notes",
    new_metadata(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("author", sa.String(150), nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("written_at", UTCDateTime, nullable=False),
)


class Settings(BaseModel):
    """On the plugin's settings page, or as NOTES_SHOWN."""

    shown: int = Field(20, ge=1, le=500, description="How many notes the page shows.")


class Notes(BaseModule):
    module_name = "notes"
    module_version = "1.0.0"
    module_menu_name = "Notes"
    module_menu_icon = "fas fa-note-sticky"
    module_settings: Any = Settings

    def on_load(self) -> None:
        self.module_router = APIRouter()
        self.module_router.add_api_route("/", self.index, methods=["GET"])
        self.module_router.add_api_route("/", self.write, methods=["POST"])

    def on_load_complete(self, fast_pluggy: Plugbay) -> None:
        self.host = fast_pluggy
        fast_pluggy.metrics.add("notes", lambda: f"# TYPE notes_total gauge\nnotes_total {self.count()}\n")

    def index(self, request: Request) -> Response:
        latest = sa.select(notes).order_by(notes.c.id.desc()).limit(self.module_settings.shown)
        with self.host.store.connect() as connection:
            rows = connection.execute(latest).all()
        return self.host.templates.response(request, "notes/index.html.j2", {"notes": rows})

    def write(
        self, request: Request, user: CurrentUser, text: Annotated[str, Form(max_length=2000)]
    ) -> Response:
        values = {"author": user.name, "text": text, "written_at": self._now()}
        with self.host.store.begin() as connection:
            connection.execute(sa.insert(notes).values(values))
        flash(request, FlashMessage("Your note is kept."))
        return RedirectResponse(request.url.path, status_code=303)

    def count(self) -> int:
        with self.host.store.connect() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(notes)) or 0

    def _now(self) -> datetime:
        return self.host.clock.now()
