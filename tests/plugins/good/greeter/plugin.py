"""A plugin with one of everything: page, template, static file, setting, table, filter, event, metric."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, SecretStr

from plugbay import BaseModule, Event, Plugbay


class Settings(BaseModel):
    greeting: str = Field("Hello", min_length=1, description="What the page says.")
    times: int = Field(1, ge=1, le=5, description="How often it says so.")
    password: SecretStr = Field(SecretStr(""), description="Not shown to anybody.")


class Greeter(BaseModule):
    module_name = "greeter"
    module_version = "1.2.3"
    module_menu_name = "Greetings"
    module_menu_icon = "fas fa-hand"
    module_settings = Settings
    extra_css_files = ["greeter.css"]
    extra_js_files = ["greeter.js"]

    def on_load(self) -> None:
        self.heard: list[str] = []
        self.module_router = APIRouter()
        self.module_router.add_api_route("/", self.index, methods=["GET"])
        self.module_router.add_api_route("/ping", self.ping, methods=["POST"])

    def after_setup_templates(self, fast_pluggy: Plugbay) -> None:
        fast_pluggy.templates.add_filter("greeter", "shout", lambda text: f"{text}!".upper())

    def on_load_complete(self, fast_pluggy: Plugbay) -> None:
        self.host = fast_pluggy
        fast_pluggy.events.on("greeting.sent", self.hear, owner="greeter")
        fast_pluggy.metrics.add("greeter", lambda: "# TYPE greetings gauge\ngreetings 1\n")
        fast_pluggy.menu.add("greeter", "More greetings", "/greeter/more")

    def on_unload(self) -> None:
        self.heard.append("goodbye")

    def hear(self, event: Event) -> None:
        self.heard.append(event.name)

    def index(self, request: Request) -> Response:
        settings: Settings = self.module_settings
        context = {"greeting": settings.greeting, "times": settings.times}
        return self.host.templates.response(request, "greeter/index.html.j2", context)

    def ping(self) -> dict[str, str]:
        return {"answer": "pong"}
