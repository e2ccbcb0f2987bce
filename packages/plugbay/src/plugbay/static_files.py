"""/static/<owner>/…: one route for the files of the host and of all plugins."""

import json
import mimetypes
import re
from pathlib import Path

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import FileResponse, Response
from starlette.staticfiles import NotModifiedResponse

HASHED_FOR = "public, max-age=31536000, immutable"  # a hashed name never changes its content
OTHERS_FOR = "no-cache"  # asked for anew each time, answered by 304
HASHED = re.compile(r"dist/[^/]+-[A-Z0-9]{8}\.\w+")
PACKED = {"br": ".br", "gzip": ".gz"}  # the build writes these beside a file; the first is the smaller one


class StaticFiles:
    """Knows the static folder of each owner, and the hashed names in its `dist/`."""

    def __init__(self) -> None:
        self._folders: dict[str, Path] = {}
        self._manifests: dict[str, dict[str, str]] = {}

    def add(self, owner: str, folder: Path) -> None:
        manifest = folder / "dist" / "manifest.json"
        self._manifests[owner] = json.loads(manifest.read_text()) if manifest.is_file() else {}
        self._folders[owner] = folder.resolve()

    def remove_owner(self, owner: str) -> None:
        self._folders.pop(owner, None)
        self._manifests.pop(owner, None)

    def url(self, owner: str, path: str) -> str:
        """The path of a file under an owner's `static/` folder; `dist/app.css` by its built name."""
        folder, _, name = path.rpartition("/")
        if folder == "dist":
            path = f"dist/{self._manifests.get(owner, {}).get(name, name)}"
        return f"/static/{owner}/{path}"

    def asset(self, name: str, owner: str = "plugbay") -> str:
        """The path of a built file by its plain name: `app.css` → `/static/plugbay/dist/app-1A2B3C4D.css`."""
        return self.url(owner, f"dist/{name}")

    def find(self, owner: str, path: str) -> Path | None:
        """The file, if there is one below the owner's folder; a symlink out of it is not followed."""
        folder = self._folders.get(owner)
        if folder is None or "\0" in path or "/." in f"/{path}":  # what begins with a dot is private
            return None
        try:
            file = (folder / path).resolve()
            return file if file.is_relative_to(folder) and file.is_file() else None
        except (OSError, ValueError):
            return None


def packed(file: Path, accepted: str) -> tuple[Path, dict[str, str]]:
    """The file, or its compressed twin if the browser takes that, and the headers that say which."""
    tokens = [token.partition(";") for token in accepted.lower().replace(" ", "").split(",")]
    taken = {name for name, _, quality in tokens if quality not in ("q=0", "q=0.0")}
    twins = {name: file.with_name(file.name + ending) for name, ending in PACKED.items()}
    built = {name: twin for name, twin in twins.items() if twin.is_file()}
    headers = {"vary": "accept-encoding"} if built else {}
    for name, twin in built.items():
        if name in taken:
            return twin, {**headers, "content-encoding": name}
    return file, headers


def static_router(files: StaticFiles) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.api_route("/static/{owner}/{path:path}", methods=["GET", "HEAD"], response_class=FileResponse)
    def static(owner: str, path: str, request: Request) -> Response:
        file = files.find(owner, path)
        if file is None:
            raise HTTPException(404)
        sent, headers = packed(file, request.headers.get("accept-encoding", ""))
        headers["cache-control"] = HASHED_FOR if HASHED.fullmatch(path) else OTHERS_FOR
        media_type = mimetypes.guess_type(file.name)[0]
        response = FileResponse(sent, headers=headers, media_type=media_type, stat_result=sent.stat())
        if request.headers.get("if-none-match") == response.headers["etag"]:
            return NotModifiedResponse(response.headers)
        return response

    return router
