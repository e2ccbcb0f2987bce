from plugbay import BaseModule


class NeedsMissing(BaseModule):
    depends_on = {"nowhere_to_be_found": ">=1"}

    def on_load(self) -> None:
        pass
