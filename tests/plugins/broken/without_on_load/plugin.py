from plugbay import BaseModule


class WithoutOnLoad(BaseModule):
    module_version = "1.0"
