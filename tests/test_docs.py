"""What the README and the docs say is true: blocks run; commands, links and paths exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
import typer.main
import yaml
from typer.testing import CliRunner

from cooper.audit import AlarmConfig
from cooper.train import CooperConfig

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
SHELL = ("bash", "sh", "console", "shell")
KNOWN = {"", "text", "mermaid", "python", "yaml", "json", "toml", *SHELL}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


class Block(NamedTuple):
    language: str
    text: str
    line: int  # of the first line inside the fence, from 1
    run: bool  # marked by <!-- run -->
    file: str  # its title: the block is (a part of) that file, not of the page's program


def _read(page: Path) -> str:
    assert page.is_file(), f"{page.name} does not exist"
    return page.read_text(encoding="utf-8")


def _blocks(page: Path) -> list[Block]:
    blocks, fence, marked = [], None, False
    language, file, start, body = "", "", 0, []
    for number, line in enumerate(_read(page).splitlines(), 1):
        opening = re.match(r'(`{3,}|~{3,})\s*([\w+-]*)(?: title="(.*)")?', line.strip())
        if fence is None and opening:
            fence, language, file = opening[1], opening[2], opening[3] or ""
            start, body = number + 1, []
        elif fence is not None and line.strip() == fence:
            blocks.append(Block(language, textwrap.dedent("\n".join(body)), start, marked, file))
            fence, marked = None, False
        elif fence is not None:
            body.append(line)
        elif line.strip():
            marked = line.strip() == "<!-- run -->"
    assert fence is None, f"{page.name}:{start}: the block is not closed"
    return blocks


def _script(block: Block) -> str:
    """A shell block as a script: where lines have a `$ ` prompt, the others are output."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "console" or any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return "\n".join(lines)


def _commands(block: Block) -> list[list[str]]:
    """The simple commands of a shell block: prompts, comments, variables and pipes taken off."""
    commands = []
    for line in _script(block).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&")
        lexer.whitespace_split = True
        command: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set(";|&"):
                commands += [command] if command else []
                command = []
            elif command or not re.match(r"\w+=", word):
                command.append(word)
    return commands


def _all_commands() -> list[Any]:
    found = []
    for page in PAGES:
        if page.is_file():
            for block in _blocks(page):
                if block.language in SHELL:
                    for command in _commands(block):
                        where = f"{page.relative_to(ROOT)}:{block.line}"
                        found.append(pytest.param(command, id=f"{where} {' '.join(command)}"[:90]))
    return found


def _run(command: list[str], cwd: Path, **variables: str) -> None:
    skipped = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")  # of the `make test` around us
    env = {name: value for name, value in os.environ.items() if name not in skipped}
    path = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**env, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def test_readme_exists() -> None:
    assert README.is_file(), "README.md does not exist"


@pages
def test_block_languages_are_known(page: Path) -> None:
    for block in _blocks(page):
        assert block.language in KNOWN, f"{page.name}:{block.line}: {block.language!r}"


@pages
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    """A page is one program: its blocks in order, on the same lines so that errors point there."""
    lines = [""] * len(_read(page).splitlines())
    for block in _blocks(page):
        if block.language == "python" and not block.file:
            body = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(body)] = body
    if any(lines):
        script = tmp_path / f"page_{page.stem}.py"  # docs/cooper.md must not shadow the package
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        folder = tmp_path / "work"
        folder.mkdir()
        _run([sys.executable, str(script)], folder)


@pages
def test_data_blocks_parse(page: Path) -> None:
    parsers = {"yaml": yaml.safe_load, "json": json.loads, "toml": tomllib.loads}
    for block in _blocks(page):
        if block.language in parsers:
            assert parsers[block.language](block.text) is not None, f"{page.name}:{block.line}"


@pages
def test_marked_shell_blocks_run(page: Path, tmp_path: Path) -> None:
    for block in _blocks(page):
        if block.run and block.language in SHELL:
            _run(["bash", "-eu", "-o", "pipefail", "-c", _script(block)], tmp_path)


@pytest.mark.parametrize("command", _all_commands())
def test_commands_exist(command: list[str]) -> None:
    program = Path(command[0]).name
    if program == "cooper":
        _check_cooper(command[1:])
    elif program == "make":
        _run(["make", "-n", *command[1:]], ROOT)
    elif program.startswith("python") and len(command) > 1 and command[1].endswith(".py"):
        assert (ROOT / command[1]).is_file(), f"{command[1]} does not exist"
    elif program == "pip" or command[1:3] == ["-m", "pip"]:
        _check_pip(command)


def _check_cooper(words: list[str]) -> None:
    """The sub-command prints its help and takes these options and this number of arguments."""
    from cooper.cli import app

    command: Any = typer.main.get_command(app)
    path: list[str] = []
    while words and words[0] in getattr(command, "commands", {}):
        path.append(words[0])
        command, words = command.commands[words[0]], words[1:]
    shown = CliRunner().invoke(app, [*path, "--help"])
    assert shown.exit_code == 0, shown.output
    if "--help" in words:
        return
    context = command.context_class(command, info_name=" ".join(["cooper", *path]))
    values, left, _ = command.make_parser(context).parse_args(list(words))
    unknown = [word for word in left if word.startswith("-") or not hasattr(command, "commands")]
    assert not unknown, f"cooper {' '.join(path)}: not understood: {unknown}"
    assert not (left and hasattr(command, "commands")), f"cooper has no command {left[0]!r}"
    missing = [p.name for p in command.params if p.required and values.get(p.name) is None]
    assert not missing, f"cooper {' '.join(path)}: missing {missing}"


def _check_pip(command: list[str]) -> None:
    project = tomllib.loads(_read(ROOT / "pyproject.toml"))["project"]
    for name, extras in re.findall(r"(cooper[\w-]*)(?:\[([\w,-]+)\])?", " ".join(command)):
        assert name == project["name"], f"{name!r} is not the distribution {project['name']!r}"
        unknown = set(filter(None, extras.split(","))) - set(project["optional-dependencies"])
        assert not unknown, f"no such extras: {sorted(unknown)}"


@pages
def test_links_and_images_exist(page: Path) -> None:
    text = re.sub(r"^(```|~~~).*?^\1", "", _read(page), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`\n]*`", "", text)
    targets = re.findall(r"\]\(\s*<?([^)\s>]+)", text)
    targets += re.findall(r"(?:src|srcset|href)=\"([^\"\s]+)", text)
    targets += re.findall(r"^\[[^\]]+\]:\s+(\S+)", text, flags=re.MULTILINE)
    for target in targets:
        file = unquote(target.split("#")[0])
        if file and not re.match(r"[a-z][a-z+.-]*:", file):
            assert (page.parent / file).exists(), f"{page.name}: {target} does not exist"


def _tree_names(block: Block) -> list[str]:
    """What stands one level below src/cooper/ in a drawn tree; `a.py, b.py` may share a line."""
    lines = block.text.splitlines()
    root = next(i for i, line in enumerate(lines) if "src/cooper/" in line)
    depths = [re.search(r"[\w.]", line) for line in lines]
    names, level = [], None
    for line, first in zip(lines[root + 1 :], depths[root + 1 :], strict=True):
        above = depths[root]
        if first is None or above is None:
            continue
        if first.start() <= above.start():
            break
        level = first.start() if level is None else level
        if first.start() == level:
            listed = re.match(r"[\w.]+/?(?:, [\w.]+/?(?=[,\s]|$))*", line[level:])
            names += listed[0].split(", ") if listed else []
    return [name.rstrip("/") for name in names]


def _tree_found() -> set[str]:
    source = ROOT / "src" / "cooper"
    modules = {path.name for path in source.glob("[!_]*.py")}
    folders = {
        path.name
        for path in source.glob("[!_.]*/")
        if any(file.is_file() and file.suffix != ".pyc" for file in path.rglob("*"))
    }
    return modules | folders


@pages
def test_trees_are_the_tree(page: Path) -> None:
    trees = [b for b in _blocks(page) if b.language == "text" and "src/cooper/" in b.text]
    assert trees or page != README, "README.md: no ```text block shows the tree of src/cooper/"
    for block in trees:
        names = _tree_names(block)
        assert len(names) == len(set(names)), f"{page.name}:{block.line}: a name stands twice"
        assert set(names) == _tree_found(), f"{page.name}:{block.line}"


def _settings(page: Path, columns: int) -> list[tuple[str, list[str | None]]]:
    """Rows "| `name` | value | ... |" of the page's tables with so many columns; none is None."""
    rows = []
    for line in _read(page).splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if line.startswith("| `") and len(cells) == columns and cells[0].count("`") == 2:
            values = [None if cell == "none" else cell for cell in cells[1:]]
            rows.append((cells[0].strip("`"), values))
    return rows


def test_cooper_page_lists_every_setting_with_its_values() -> None:
    rows = _settings(ROOT / "docs" / "cooper.md", 4)
    assert [name for name, _ in rows] == list(CooperConfig.model_fields)
    given = [{name: cells[k] for name, cells in rows} for k in (0, 1)]
    assert CooperConfig.model_validate(given[0]) == CooperConfig()
    assert CooperConfig.model_validate(given[1]) == CooperConfig.paper()


def test_alarm_page_lists_every_setting_with_its_default() -> None:
    rows = _settings(ROOT / "docs" / "alarm.md", 3)  # those of the kinds too
    found = {name: cells[0] for name, cells in rows if cells[0] not in ("alarm", "warning")}
    assert list(found) == list(AlarmConfig.model_fields)
    assert AlarmConfig.model_validate(found) == AlarmConfig()


def test_adding_a_method_works_as_written(tmp_path: Path) -> None:
    """The four edits of docs/contributing.md, on a copy, followed by the checks."""
    for folder in ("src", "tests"):
        skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=skipped)
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    edits = {b.file: b.text for b in _blocks(ROOT / "docs" / "contributing.md") if b.file}
    family = "src/cooper/combine/__init__.py"
    assert list(edits) == [
        "src/cooper/combine/_lowest.py",
        family,
        "tests/combine/test_lowest.py",
        "CHANGELOG.md",
    ]
    row, line, name = edits[family].splitlines()
    text = (tmp_path / family).read_text(encoding="utf-8")
    text = _among(text, row, "| `")
    text = _among(text, line, "from cooper.combine.")
    listed = re.search(r"__all__ = \[(.*?),?\]", text, flags=re.DOTALL)
    assert listed
    names = sorted([*re.findall(r'"\w+"', listed[1]), name])
    text = text.replace(listed[0], f"__all__ = [{', '.join(names)}]")
    changes = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    edits[family] = text.rstrip("\n")
    edits["CHANGELOG.md"] = changes.replace("### Added\n", f"### Added\n\n{edits['CHANGELOG.md']}")
    for file, content in edits.items():
        (tmp_path / file).write_text(content + "\n", encoding="utf-8")
    _run(["ruff", "check", "--no-cache", "src/cooper/combine", "tests/combine"], tmp_path)
    _run(["ruff", "format", "--no-cache", "--check", "src/cooper/combine"], tmp_path)
    checks = ["tests/combine/test_lowest.py", "src/cooper/combine/_lowest.py"]
    checks += ["tests/test_contract.py", "-k", "lowest or family or export"]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    _run([sys.executable, "-m", "pytest", *options, *checks], tmp_path)
    used = "from cooper.recipe import Recipe; Recipe(['a', 'b'], 'lowest')"
    _run([sys.executable, "-c", used], tmp_path, PYTHONPATH=str(tmp_path / "src"))


def _among(text: str, new: str, start: str) -> str:
    """`text` with the line `new` in its alphabetical place among those that begin with `start`."""
    lines = text.splitlines()
    places = [i for i, line in enumerate(lines) if line.startswith(start)]
    place = next((i for i in places if lines[i] > new), places[-1] + 1)
    return "\n".join([*lines[:place], new, *lines[place:]]) + "\n"
