"""The page's style sheet and script; they go into the page itself, so that it opens offline."""

from __future__ import annotations

from importlib.resources import files

# Colours pass 4.5 : 1 on their own surface and differ in lightness as well as hue; each also
# has its own dash pattern, so that the curves can be told apart without any colour.
LIGHT = {
    "surface": "#ffffff",
    "card": "#ffffff",
    "ink": "#1b1f24",
    "soft": "#59636e",
    "edge": "#d5dae0",
    "tint": "#f4f6f8",
    "c1": "#005f9e",
    "c2": "#8a5a00",
    "c3": "#b8401c",
    "c4": "#00705a",
    "c5": "#7d3f98",
    "c6": "#4a5560",
    "bad": "#a3260b",
    "good": "#00664f",
}
DARK = {
    "surface": "#14171b",
    "card": "#14171b",
    "ink": "#e6e9ed",
    "soft": "#a3adb8",
    "edge": "#343b44",
    "tint": "#1d2228",
    "c1": "#62b6f0",
    "c2": "#e8b23f",
    "c3": "#ff8a62",
    "c4": "#3fcfa6",
    "c5": "#d3a1ea",
    "c6": "#b9c2cc",
    "bad": "#ff8a70",
    "good": "#4fd6ae",
}
DASHES = {2: "7 3", 3: "", 4: "2 3", 5: "9 3 2 3", 6: "4 4"}


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def _file(name: str) -> str:
    return files("cooper.report").joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def script() -> str:
    """The script that sorts and filters the table."""
    return _file("page.js")


def style() -> str:
    """The whole style sheet."""
    series = "".join(
        f".line.c{n}{{stroke:var(--c{n});stroke-dasharray:{DASHES.get(n) or 'none'}}}"
        f".raw.c{n},.lead.c{n}{{stroke:var(--c{n})}}"
        f".band.c{n},.dot.c{n},.name.c{n}{{fill:var(--c{n})}}"
        for n in range(1, 7)
    )
    return (
        f":root{{color-scheme:light dark;{_variables(LIGHT)}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}"
        f"{_file('page.css')}{series}"
        ".line.dash{stroke-dasharray:5 3}"
    )
