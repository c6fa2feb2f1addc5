"""Files and functions stay small."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "cooper"
FILE_LINES = 400
FUNCTION_LINES = 80


def _files() -> dict[str, int]:
    return {
        str(path.relative_to(SOURCE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in SOURCE.rglob("*.py")
    }


def _functions() -> dict[str, int]:
    sizes = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{path.relative_to(SOURCE)}:{node.lineno} {node.name}"
                sizes[name] = (node.end_lineno or node.lineno) - node.lineno + 1
    return sizes


def _check(sizes: dict[str, int], most: int) -> None:
    assert sizes, f"nothing found under {SOURCE}"
    ranked = sorted(sizes.items(), key=lambda item: -item[1])
    print("\n".join(f"{lines:4} {name}" for name, lines in ranked[:10]))
    assert not [f"{name}: {lines} lines" for name, lines in ranked if lines > most]


def test_files_are_short() -> None:
    _check(_files(), FILE_LINES)


def test_functions_are_short() -> None:
    _check(_functions(), FUNCTION_LINES)
