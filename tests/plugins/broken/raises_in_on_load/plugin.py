from plugbay import BaseModule


class Raises(BaseModule):
    module_menu_name = "Raises"

    def on_load(self):
        raise RuntimeError("<b>no</b> luck in on_load")
