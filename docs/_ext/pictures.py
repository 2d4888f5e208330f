"""The directive ``picture``: a picture of ``docs/pictures`` in its light and its dark form, of which the theme shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class Picture(SphinxDirective):
    """Show a picture by its name; the content is the text for those who cannot see it."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return two images and the classes by which the theme chooses."""
        (name,) = self.arguments
        alt = " ".join(self.content)
        if not alt:
            raise self.error(f"the picture {name} needs a text that describes it")
        images: list[nodes.Node] = []
        for theme in "light", "dark":
            uri = f"/pictures/{name}-{theme}.svg"
            images.append(
                nodes.image(uri=uri, alt=alt, classes=["picture", f"only-{theme}"])
            )
        return images


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("picture", Picture)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
