from fastapi import APIRouter

from plugbay import BaseModule

router = APIRouter()


@router.get("/")
def index() -> str:
    return "fine"


class Fine(BaseModule):
    """Loads among all the broken ones."""

    module_version = "1.0"
    module_router = router

    def on_load(self) -> None:
        pass
