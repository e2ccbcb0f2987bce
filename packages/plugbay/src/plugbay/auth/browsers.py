"""A browser's long name in two words, for the list of one's sessions."""

# the order matters: each of these also claims to be those below it
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "FxiOS/": "Firefox", "CriOS/": "Chrome"}
BROWSERS |= {"Chrome/": "Chrome", "Safari/": "Safari", "curl/": "curl", "python": "Python"}
SYSTEMS = {"Windows": "Windows", "Android": "Android", "iPhone": "iPhone", "iPad": "iPad"}
SYSTEMS |= {"Mac OS": "macOS", "CrOS": "ChromeOS", "Linux": "Linux"}


def browser_name(agent: str | None) -> str:
    """`Firefox on Linux`; what is not known is shown as it came, cut short."""
    browser = _first(BROWSERS, agent or "")
    system = _first(SYSTEMS, agent or "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or (agent or "unknown")[:60]


def _first(names: dict[str, str], agent: str) -> str:
    return next((name for mark, name in names.items() if mark in agent), "")
