"""Parts of an HTML page that contains all it shows: no script, no other file, no request."""

import html
import io
from collections.abc import Sequence

import matplotlib
from matplotlib.figure import Figure

from onlooker.experiments.report.plots import STYLE

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }}
.wide {{ overflow-x: auto }} @media print {{ .wide {{ overflow: visible }} }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: .85rem }}
td, th {{ padding: .25rem .6rem .25rem 0; text-align: right; vertical-align: bottom }}
td {{ white-space: nowrap }} th {{ border-bottom: 2px solid #222 }}
:is(td, th).words {{ text-align: left }}
td.words {{ white-space: normal }} dd p {{ margin: 0 0 .6rem }}
figure {{ margin: 1rem 0 }} svg {{ width: 100%; height: auto }}
img {{ width: 32%; margin: 0 1% 1% 0 }} .note {{ color: #555 }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem }} dd {{ margin: 0 }}
dt {{ font-weight: 600 }} pre {{ background: #f4f4f4; padding: .6rem; overflow-x: auto }}
</style>
<h1>{title}</h1>
{body}</html>
"""


def document(title: str, parts: Sequence[str]) -> str:
    """A whole page, from parts that are HTML."""
    return PAGE.format(title=html.escape(title), body="\n".join(parts))


def paragraphs(text: str) -> str:
    """Plain text as paragraphs, which are separated by empty lines.

    >>> paragraphs("a < b")
    '<p>a &lt; b</p>'
    """
    return "".join(f"<p>{html.escape(part)}</p>" for part in text.strip().split("\n\n"))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table; the first `words` columns are text, the others are numbers.

    >>> table(["who", "faces"], [["ana", "4"]]).count("<td")
    2
    """

    def row(cells: Sequence[str], tag: str) -> str:
        kinds = [' class="words"' if at < words else "" for at in range(len(cells))]
        return "<tr>" + "".join(
            f"<{tag}{kind}>{html.escape(cell)}</{tag}>"
            for cell, kind in zip(cells, kinds, strict=True)
        )

    lines = [row(header, "th"), *(row(cells, "td") for cells in rows)]
    return '<div class="wide"><table>' + "\n".join(lines) + "</table></div>"


def drawing(figure: Figure) -> str:
    """A figure as SVG; equal figures give equal text."""
    drawn = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    text = drawn.getvalue()
    return f"<figure>{text[text.index('<svg') :]}</figure>"


def share(value: float | None) -> str:
    """A number from 0 to 1, or a dash where there is none.

    >>> share(0.5), share(None)
    ('0.500', '–')
    """
    return "–" if value is None else f"{value:.3f}"
