"""A plugin that cannot load before an admin has entered a setting."""

from pydantic import BaseModel, Field

from plugbay import BaseModule


class Settings(BaseModel):
    address: str = Field(description="Required: there is no sensible default.")


class Strict(BaseModule):
    module_settings = Settings

    def on_load(self) -> None:
        pass
