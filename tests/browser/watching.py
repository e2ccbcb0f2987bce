"""What a browser noticed while a page was open: messages, errors, forbidden things, and parts that moved."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ConsoleMessage, Page, Request

# runs before the page's own scripts; the policy does not apply to it
WATCH = """
  window.noticed = { violations: [], shifts: 0 };
  addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
    noticed.violations.push(`${violatedDirective} ${blockedURI}`);
  });
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) noticed.shifts += entry.value; })
    .observe({ type: "layout-shift", buffered: true });
"""
ABANDONED = "net::ERR_ABORTED"  # who leaves a page also leaves what it was fetching at that moment
# a part that is replaced while it is looked at has no colours and no place; what moves has no final ones
STAND_STILL = """async () => {
  document.addEventListener("htmx:beforeRequest", (event) => event.preventDefault(), { capture: true });
  while (document.querySelector(".htmx-request")) await new Promise(requestAnimationFrame);
  const ending = document.getAnimations().filter(({ effect }) => effect.getTiming().iterations < Infinity);
  await Promise.allSettled(ending.map(({ finished }) => finished));
}"""


class Watch:
    """Collects from the moment it is made."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.messages: list[str] = []
        page.add_init_script(WATCH)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        page.on("requestfailed", self._on_failure)

    @property
    def violations(self) -> list[str]:
        return list(self.page.evaluate("noticed.violations"))

    @property
    def shifts(self) -> float:
        return float(self.page.evaluate("noticed.shifts"))

    def expect_silence(self) -> None:
        """Nothing was said, nothing was forbidden."""
        assert self.messages == [], self.messages
        assert self.violations == []

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type != "verbose":
            self.messages.append(f"{message.type}: {message.text}")

    def _on_failure(self, request: Request) -> None:
        if request.failure != ABANDONED:
            self.messages.append(f"failed: {request.url}: {request.failure}")


def barriers(page: Page) -> list[str]:
    """What keeps people with a screen reader, a keyboard or weak eyes out, by axe-core."""
    page.evaluate(STAND_STILL)
    found = Axe().run(page).response["violations"]
    return [f"{rule['id']}: {node['html']}" for rule in found for node in rule["nodes"]]
