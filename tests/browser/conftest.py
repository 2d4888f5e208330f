"""One Chromium for the tests of a module; they are left out where it is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.chromium import launched, missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


# Not for longer than a module: Playwright's event loop must not meet other tests.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    reason = missing()
    if reason:
        pytest.skip(reason)
    with launched() as browser:
        yield browser
