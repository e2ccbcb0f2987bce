from fastapi import APIRouter

from plugbay import BaseModule

router = APIRouter()


@router.post("/login")
def login() -> str:
    return "your password, please"


class TakesLogin(BaseModule):
    module_router = router
    module_mount_url = ""

    def on_load(self) -> None:
        pass
