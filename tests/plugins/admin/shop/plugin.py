"""A plugin whose settings have one of every kind."""

from enum import Enum
from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field, SecretStr

from plugbay import BaseModule


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Settings(BaseModel):
    is_open: bool = Field(True, description="Whether customers can buy <anything> at all.")
    region: Literal["eu", "us", "asia"] = Field("us", description="Where the shop sells.")
    page_size: int = Field(50, ge=1, le=200, description="Products on one page.")
    discount: float | None = Field(None, ge=0, lt=1, description="Taken off every price; empty: none.")
    colour: Colour = Colour.BLUE
    greeting: str = Field("Welcome", max_length=60)
    api_key: SecretStr | None = Field(None, description="For the payment provider.")
    webhooks: list[SecretStr] = []
    tags: list[str] = Field(["new", "sale"], description="Offered to editors.")
    limits: dict[str, int] = Field({"cart": 20}, title="Limits by place")


class Shop(BaseModule):
    """Sells <script>alert(1)</script> things."""

    module_version = "2.10.0"
    module_menu_name = "Shop"
    module_menu_icon = "fas fa-store"
    module_settings = Settings
    module_router = APIRouter()

    def on_load(self) -> None:
        pass


@Shop.module_router.get("/")
def front() -> str:
    return "open"


@Shop.module_router.get("/products/{product_id}")
def product(product_id: int) -> int:
    return product_id
