"""Text in columns."""


def lines(head: list[str], rows: list[list]) -> list[str]:
    """The first column stands to the left, numbers to the right, what is not a number to the left."""
    texts = [[text(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts)]
    numeric = [all(isinstance(row[i], (int, float, type(None))) for row in rows) for i in range(len(head))]
    return ["  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in zip(row, widths, numeric)).rstrip()
            for row in [head, *texts]]


def text(cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.3g}" if isinstance(cell, float) else str(cell)


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else None
