"""Tables hold the texts that they were given, and no markup of theirs."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.shown_html import parsed
from tfrecord_lite.apps.markup import tables
from tfrecord_lite.apps.markup.cells import Thumbnail, picture
from tfrecord_lite.apps.markup.tables import escaped, panel, table

HOSTILE = st.one_of(
    st.text(),
    st.text("<>&\"'/=! \x00\n\u202eabscript-", max_size=200),
    st.sampled_from(
        [
            "<script>alert(1)</script>",
            "</td></table></style><img src=x onerror=alert(1)>",
            '"><svg onload=alert(1)>',
            "<!-- ",
            "&lt;b&gt;",
            "\udc80",
        ]
    ),
)
OURS = {"div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "img"}


@given(HOSTILE, st.lists(st.lists(HOSTILE, min_size=3, max_size=3), max_size=5), HOSTILE)
def test_what_is_given_is_text_and_never_markup(name: str, rows: list[list[str]], end: str) -> None:
    whole = panel(
        name,
        table([name, "b", end], rows, n_rows=9, caption=name),
        picture(Thumbnail(b"GIF", "image/gif", 1, 1), end, 1),
    )
    page = parsed(whole)
    assert set(page.tags) <= OURS
    assert page.tags.count("tr") == 1 + len(rows) + 1
    assert {attribute for _, attribute, _ in page.attributes} <= {
        *("class", "scope", "colspan", "src", "alt", "title", "width", "height")
    }
    for row in rows:
        for cell in row:
            assert parsed(escaped(cell)).text in page.cells or not cell
    assert whole.encode()


@given(HOSTILE)
def test_a_text_is_shown_whole_if_it_can_be(text: str) -> None:
    shown = parsed(escaped(text, 300)).text
    assert not set(shown) & set("\n\t\0\u202e\udc80")
    if text.isprintable():
        assert shown == text[:300]


def test_a_long_text_is_cut_before_it_is_looked_at() -> None:
    assert escaped("x" * 10_000_000) == "x" * tables.MAX_TEXT + "…"
    assert escaped("&" * 200) == "&amp;" * tables.MAX_TEXT + "…"  # an escape is one character


def test_only_the_rows_and_columns_that_are_shown_are_taken() -> None:
    taken = []

    def rows() -> object:
        for i in range(1_000_000):
            taken.append(i)
            yield [i] * 100

    page = parsed(table([str(i) for i in range(100)], rows(), n_rows=1_000_000, noun="record"))  # type: ignore[arg-type]
    assert len(taken) == tables.MAX_ROWS
    assert "... and 999,960 more records" in page.text
    assert "... and 84 more" in page.text
    assert page.tags.count("th") == tables.MAX_COLUMNS + 1
    assert "more" not in parsed(table(["a"], [["x"], ["y"]], n_rows=2)).text
    assert parsed(table(["a", "b"], [])).cells == ["a", "b"]
    assert "more" not in parsed(table(["a"] * tables.MAX_COLUMNS, [])).text


def test_numbers_have_separators_and_a_class_of_their_own() -> None:
    text = table(["name", "n"], [["a", 12_345]])
    assert '<td class="tfl-number">12,345</td>' in text
    assert '<th scope="col" class="tfl-number">n</th>' in text
