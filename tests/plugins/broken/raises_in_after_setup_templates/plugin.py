from plugbay import BaseModule


class Raises(BaseModule):
    module_menu_name = "Raises"

    def on_load(self):
        pass

    def after_setup_templates(self, fast_pluggy):
        raise RuntimeError("<b>no</b> luck in after_setup_templates")
