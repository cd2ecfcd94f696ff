"""A plot of cost against size, as SVG: both axes logarithmic, one line a series."""

import math
from collections.abc import Mapping, Sequence

Points = Sequence[tuple[float, float]]
WIDTH, HEIGHT, MARGIN = 560, 340, 60
COLOURS = ("#1f6feb", "#d1242f", "#6e7781", "#1a7f37")


def ticks(values: Sequence[float]) -> list[int]:
    """The powers of ten around some values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return list(range(low, max(high, low + 1) + 1))


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """Words at a place."""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{words}</text>'


def plot(title: str, across: str, upwards: str, series: Mapping[str, Points]) -> str:
    """An SVG document of the series by their names."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    decades = ticks(ys)
    left, right = math.log10(min(xs)), math.log10(max(xs))
    room = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN

    def at(x: float, y: float) -> tuple[float, float]:
        part = (math.log10(x) - left) / (right - left or 1)
        rise = (math.log10(y) - decades[0]) / (decades[-1] - decades[0])
        return MARGIN + part * room[0], HEIGHT - MARGIN - rise * room[1]

    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        '<g font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(WIDTH / 2, 24, title),
        text(WIDTH / 2, HEIGHT - 14, across),
        text(MARGIN, 44, upwards, "start"),
    ]
    for decade in decades:
        _, y = at(min(xs), 10.0**decade)
        end = WIDTH - MARGIN
        drawn.append(f'<path d="M{MARGIN} {y:.0f}H{end}" stroke="#d0d7de"/>')
        drawn.append(text(MARGIN - 6, y + 4, f"{10.0**decade:g}", "end"))
    drawn += [text(at(x, 1)[0], HEIGHT - MARGIN + 18, f"{x:g}") for x in sorted(set(xs))]
    for place, (name, points) in enumerate(series.items()):
        colour = COLOURS[place % len(COLOURS)]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*each) for each in points))
        drawn.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = at(*points[-1])
        drawn.append(f'<g fill="{colour}">{text(x - 4, y - 8, name, "end")}</g>')
    return "\n".join([*drawn, "</g></svg>\n"])
