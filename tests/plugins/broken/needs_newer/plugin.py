from plugbay import BaseModule


class NeedsNewer(BaseModule):
    depends_on = {"fine": ">=2"}

    def on_load(self) -> None:
        pass
