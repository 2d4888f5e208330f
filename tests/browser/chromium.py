"""Pages in Chromium, watched: what they say, what they ask for, and what no data may make of them.

Chromium is the system's (``apt-get install chromium``); axe-core, which judges accessibility, comes
from npm. ``python -m tests.browser.chromium`` says whether both are there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.corpus import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

__all__ = ["Watched", "launched", "missing", "watched"]

NAMES = ("chromium", "chromium-browser", "google-chrome")
AXE = ROOT / ".axe" / "node_modules" / "axe-core" / "axe.min.js"

LISTEN = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.__violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""
STRANGE = r"""
() => {
  const found = [], url = new Set(["href", "src", "srcset", "action", "formaction", "data", "poster", "ping"]);
  if (window.__ran !== undefined) found.push(`a script of the data has run: ${window.__ran}`);
  const tags = "iframe, frame, object, embed, base, applet, link, form, foreignObject, .injected";
  for (const element of document.querySelectorAll(tags)) found.push(`element ${element.tagName}`);
  for (const element of document.querySelectorAll("meta[http-equiv]"))
    if (element.httpEquiv.toLowerCase() !== "content-security-policy") found.push(element.outerHTML);
  const everything = (root) => [...root.querySelectorAll("*")].flatMap(
    (each) => each.content instanceof DocumentFragment ? [each, ...everything(each.content)] : [each]
  );
  for (const element of everything(document)) {
    for (const { name, value } of element.attributes) {
      if (name.startsWith("on")) found.push(`attribute ${name} of ${element.tagName}`);
      const is_ours = /^(#|data:(image\/(png|jpeg|webp|gif)|audio\/[\w.+-]+);base64,)/.test(value);
      if (url.has(name.replace("xlink:", "")) && !is_ours)
        found.push(`${name}=${value.slice(0, 60)} of ${element.tagName}`);
    }
  }
  return [...found, ...(window.__violations ?? []).map((text) => `policy: ${text}`)];
}
"""
TOO_WIDE = """
() => {
  const root = document.documentElement, body = document.body;
  if (Math.max(root.scrollWidth, body.scrollWidth) <= window.innerWidth) return [];
  const is_clipped = (element) => {
    for (let each = element.parentElement; each && each !== body; each = each.parentElement)
      if (getComputedStyle(each).overflowX !== "visible") return true;
    return false;
  };
  const wide = [...body.querySelectorAll("*")].filter(
    (each) => each.getBoundingClientRect().right > window.innerWidth + 1 && !is_clipped(each)
  );
  const names = wide.slice(0, 5).map((each) => `${each.tagName}#${each.id}.${each.className}`);
  return [`${root.scrollWidth} pixels wide`, ...names];
}
"""
JUDGE = """
async () => {
  const surplus = [...document.querySelectorAll(".card:nth-child(n+40), .record:nth-child(n+40)")];
  const parents = surplus.map((each) => each.parentNode);
  for (const each of surplus) each.remove();
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  surplus.forEach((each, i) => parents[i].append(each)); // the last ones, in order
  return violations.map(({ id, nodes }) => {
    const [{ target, failureSummary }] = nodes;
    return `${id} (${nodes.length}): ${target.join(" ")}: ${failureSummary}`;
  });
}
"""


class Watched:
    """A page, and what happened in it since it was opened.

    Attributes
    ----------
    page : playwright.sync_api.Page
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self._complaints: list[str] = []
        self._requests: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._complaints.append(f"error: {error}"))
        page.on("request", lambda request: self._requests.append(request.url))
        page.on("requestfailed", self._drop)
        page.on("popup", lambda popup: self._complaints.append(f"popup: {popup.url}"))
        page.on("download", lambda download: self._complaints.append(f"download: {download.url}"))
        page.on("dialog", self._dismiss)
        page.add_init_script(LISTEN)

    def problems(self) -> list[str]:
        """Return what must not be by now: complaints, requests, scripts and elements of data."""
        own = self.page.url.partition("#")[0]
        others = [f"request: {url[:200]}" for url in self._requests if url != own]
        again = ["loaded again"] * (self._requests.count(own) - 1)
        return [*self._complaints, *others, *again, *self.page.evaluate(STRANGE)]

    def barriers(self) -> list[str]:
        """Return what axe-core finds: contrast, names, roles, order of headings and more.

        Of thousands of cards and records, which are made alike, only the first ones are judged.
        """
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(_axe_source())
        found: list[str] = self.page.evaluate(JUDGE)
        return found

    def overflow(self) -> list[str]:
        """Return what makes the page wider than the window, if it is."""
        found: list[str] = self.page.evaluate(TOO_WIDE)
        return found

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            self._complaints.append(f"console: {message.text}")

    def _drop(self, request: Request) -> None:
        """Forget a request that the policy of the page stopped before it left, a problem by itself."""
        if request.failure == "csp":
            self._requests.remove(request.url)

    def _dismiss(self, dialog: Any) -> None:
        self._complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def watched(browser: Browser, path: Path, width: int = 1280, **settings: Any) -> Iterator[Watched]:
    """Open a page in a window of that width; settings are those of a browser context."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, reduced_motion="reduce", **settings
    )
    context.set_default_timeout(10_000)
    try:
        one = Watched(context.new_page())
        one.page.goto(path.as_uri())
        yield one
    finally:
        context.close()


@contextmanager
def launched() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        try:
            yield browser
        finally:
            browser.close()


def missing() -> str | None:
    """Return what is not there and how to install it; None if all is."""
    if _chromium() is None:
        return "no Chromium: apt-get install chromium, or name it in TFRECORD_CHROMIUM"
    if not _axe().is_file():
        return "no axe-core: npm install --no-save --prefix .axe axe-core"
    return None


def _chromium() -> str | None:
    named = os.environ.get("TFRECORD_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def _axe() -> Path:
    return Path(os.environ.get("TFRECORD_AXE") or AXE)


@cache
def _axe_source() -> str:
    return _axe().read_text(encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(missing())
