from plugbay import BaseModule


class BadMigration(BaseModule):
    def on_load(self) -> None:
        pass
