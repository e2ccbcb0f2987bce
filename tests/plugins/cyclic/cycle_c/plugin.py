from plugbay import BaseModule


class Cycle(BaseModule):
    depends_on = {"cycle_a": "*"}

    def on_load(self) -> None:
        pass
