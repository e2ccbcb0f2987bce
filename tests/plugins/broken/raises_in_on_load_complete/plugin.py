from plugbay import BaseModule


class Raises(BaseModule):
    module_menu_name = "Raises"

    def on_load(self):
        pass

    def on_load_complete(self, fast_pluggy):
        raise RuntimeError("<b>no</b> luck in on_load_complete")
