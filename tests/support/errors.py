"""The error that a call ends in."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

_Error = TypeVar("_Error", bound=BaseException)


def raised(
    kind: type[_Error] | tuple[type[_Error], ...],
    call: Callable[..., object],
    /,
    *arguments: Any,
    match: str | None = None,
    **keywords: Any,
) -> _Error:
    with pytest.raises(kind, match=match) as caught:
        call(*arguments, **keywords)
    return caught.value
