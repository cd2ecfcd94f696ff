"""Plots as SVG: cost against size, one line a series; ratios, one row a stage and a dot a model.

Axes of costs and ratios are logarithmic. Colours suit light and dark pages, as the background of a
plot is its own.
"""

import math
from collections.abc import Mapping, Sequence

Points = Sequence[tuple[float, float]]
WIDTH, HEIGHT, MARGIN = 640, 340, 60
LEFT, ROW = 190, 30
COLOURS = ("#0b63c5", "#c2553a", "#57606a", "#1a7f37", "#8250df", "#9a6700")
LINE = "#d0d7de"


def ticks(values: Sequence[float]) -> list[int]:
    """The powers of ten around some values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return list(range(low, max(high, low + 1) + 1))


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """Words at a place."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>'


def drawing(title: str, height: float, parts: Sequence[str]) -> str:
    """An SVG document; its title is what readers of screens hear."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}">',
            f"<title>{title}</title>",
            '<g font-family="system-ui, sans-serif" font-size="12" fill="#1b1f24">',
            f'<rect width="{WIDTH}" height="{height:.0f}" rx="6" fill="white"/>',
            f'<g font-size="14" font-weight="600">{text(16, 26, title, "start")}</g>',
            *parts,
            "</g></svg>\n",
        ]
    )


def plot(title: str, across: str, upwards: str, series: Mapping[str, Points]) -> str:
    """An SVG document of the series by their names, each named at its last point."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    decades = ticks(ys)
    left, right = math.log10(min(xs)), math.log10(max(xs))
    end = WIDTH - 2 * MARGIN

    def at(x: float, y: float) -> tuple[float, float]:
        part = (math.log10(x) - left) / (right - left or 1)
        rise = (math.log10(y) - decades[0]) / (decades[-1] - decades[0])
        return MARGIN + part * (end - MARGIN), HEIGHT - MARGIN - rise * (HEIGHT - 2 * MARGIN)

    drawn = [text((MARGIN + end) / 2, HEIGHT - 14, across), text(16, 46, upwards, "start")]
    for decade in decades:
        _, y = at(min(xs), 10.0**decade)
        drawn.append(f'<path d="M{MARGIN} {y:.0f}H{end}" stroke="{LINE}"/>')
        drawn.append(text(MARGIN - 6, y + 4, number(10.0**decade), "end"))
    drawn += [text(at(x, 1)[0], HEIGHT - MARGIN + 18, number(x)) for x in sorted(set(xs))]
    for place, (name, points) in enumerate(series.items()):
        colour = COLOURS[place % len(COLOURS)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*each) for each in points))
        drawn.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        drawn += [dot(*at(*each), colour) for each in points]
        x, y = at(*points[-1])
        drawn.append(f'<g fill="{colour}">{text(x + 8, y + 4, name, "start")}</g>')
    return drawing(title, HEIGHT, drawn)


def ratios(title: str, across: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """An SVG document with a row for each name, and a dot for each of its ratios; 1 is marked."""
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    found = [value for row in rows.values() for value in row.values()]
    decades = ticks([*found, 1.0])
    end, top = WIDTH - 40, 76
    bottom = top + ROW * len(rows)

    def at(value: float) -> float:
        part = (math.log10(value) - decades[0]) / (decades[-1] - decades[0])
        return LEFT + part * (end - LEFT)

    drawn = [text((LEFT + end) / 2, bottom + 40, across)]
    for place, name in enumerate(names):
        x = LEFT + place * (end - LEFT) / len(names)
        drawn += [dot(x, 50, colours[name]), text(x + 9, 54, name, "start")]
    for decade in decades:
        x, colour = at(10.0**decade), "#57606a" if decade == 0 else LINE
        drawn.append(f'<path d="M{x:.0f} {top}V{bottom}" stroke="{colour}"/>')
        drawn.append(text(x, bottom + 18, f"{number(10.0**decade)}×"))
    for place, (name, row) in enumerate(rows.items()):
        y = top + ROW * (place + 0.5)
        drawn.append(text(LEFT - 12, y + 4, name, "end"))
        drawn.append(f'<path d="M{LEFT} {y:.0f}H{end}" stroke="{LINE}" stroke-dasharray="1 3"/>')
        drawn += [dot(at(value), y, colours[each]) for each, value in row.items()]
    return drawing(title, bottom + 56, drawn)


def dot(x: float, y: float, colour: str) -> str:
    """A point."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}" fill-opacity="0.85"/>'


def number(value: float) -> str:
    """A number as people write it."""
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
