from pathlib import Path

from fastapi import APIRouter
from starlette.staticfiles import StaticFiles

from plugbay import BaseModule

router = APIRouter()
router.mount("/files", StaticFiles(directory=Path(__file__).parent))


class Mounts(BaseModule):
    """A mount would be served without any login."""

    module_router = router

    def on_load(self) -> None:
        pass
