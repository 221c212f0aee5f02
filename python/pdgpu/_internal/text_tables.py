"""Rows in columns: as text, and as HTML for notebooks."""

from __future__ import annotations

__all__ = ["html_table", "text_table"]


def text_table(head, rows, *, left=1):
    """Return rows of text in columns; the first `left` columns are aligned left, numbers right."""
    rows = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    lines = [
        "  ".join(cell.ljust(w) if k < left else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))) for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def html_table(head, rows, *, left=1, caption="", note=""):
    """The same as HTML, for notebooks: a caption above, a note below; all text is escaped."""
    import html

    aligned = ["left" if k < left else "right" for k in range(len(head))]

    def line(tag, cells):
        return "".join(
            f'<{tag} style="text-align:{side}">{html.escape(str(cell))}</{tag}>' for cell, side in zip(cells, aligned, strict=True)
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    above = f'<caption style="text-align:left">{html.escape(caption)}</caption>' if caption else ""
    below = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<table>{above}<thead><tr>{line('th', head)}</tr></thead><tbody>{body}</tbody></table>{below}"
