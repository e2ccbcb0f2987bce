"""The service on the web: pages for people, `/api` for programs.

Looking is for viewers and changing for editors, as everywhere; a route that asks for more says so.
"""

from fastapi import APIRouter

from plugbay_scheduled_query.web.api import API
from plugbay_scheduled_query.web.pages import PAGES

# one flat list: FastAPI goes through a router in a router anew at each level
router = APIRouter(routes=[route for part in (*PAGES, *API) for route in part.routes])
