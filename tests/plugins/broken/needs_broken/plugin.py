from plugbay import BaseModule


class NeedsBroken(BaseModule):
    depends_on = {"raises_in_on_load": ""}

    def on_load(self) -> None:
        pass
