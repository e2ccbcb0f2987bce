"""A person with a browser: logs in by the form and sends forms as the page gave them."""

import re
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response


class Visitor(TestClient):
    """A test client that keeps cookies, does not follow redirects, and can fill in our forms."""

    def __init__(self, app: FastAPI, *, address: str = "192.0.2.7", **options: Any) -> None:
        options = {"follow_redirects": False, "client": (address, 50000), **options}
        super().__init__(app, **options)

    def login(self, name: str, password: str, **fields: str) -> Response:
        return self.post("/login", data={"username": name, "password": password, **fields})

    def csrf_token(self, page: str = "/account") -> str:
        """The token in the forms of a page."""
        found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', self.get(page).text)
        assert found, f"{page} has no form"
        return found[1]

    def submit(self, path: str, page: str = "/account", **fields: str) -> Response:
        """Posts a form of a page, with the page's token."""
        return self.post(path, data={"csrf_token": self.csrf_token(page), **fields})
