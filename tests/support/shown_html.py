"""What a page holds once a browser has parsed it: elements, attributes and text."""

from html.parser import HTMLParser

__all__ = ["Page", "parsed"]

_VOID = {"br", "hr", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """The elements of a page, each checked to be closed where it should be."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        """Element, name and value of each."""
        self.cells: list[str] = []
        """The text of each cell of each table."""
        self._open: list[str] = []
        self._texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, names)
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in {"style", "script"}:
            self._texts.append(data)
        if {"td", "th"} & set(self._open):
            self.cells[-1] += data

    def close(self) -> None:
        super().close()
        assert not self._open

    @property
    def text(self) -> str:
        return " ".join(self._texts)

    def values(self, name: str) -> list[str]:
        return [value or "" for _, attribute, value in self.attributes if attribute == name]

    def count(self, name: str) -> int:
        return sum(name in value.split() for value in self.values("class"))

    @property
    def sources(self) -> list[str]:
        return [v or "" for tag, name, v in self.attributes if (tag, name) == ("img", "src")]


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    return page
