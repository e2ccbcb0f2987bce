from plugbay import BaseModule


class Cycle(BaseModule):
    depends_on = {"cycle_c": "*"}

    def on_load(self) -> None:
        pass
