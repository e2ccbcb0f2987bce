from plugbay import BaseModule


class Polite(BaseModule):
    """Needs greeter, and has no page: its menu entry leads nowhere."""

    module_version = "0.1"
    module_menu_name = "Polite"
    depends_on = {"greeter": ">=1.0,<2"}

    def on_load(self) -> None:
        pass
