import sys

from plugbay import BaseModule


class Exits(BaseModule):
    def on_load(self) -> None:
        sys.exit("goodbye, all of you")
