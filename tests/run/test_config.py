from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cooper.errors import UserError
from cooper.run import ARMS, dump, load_config, presets
from cooper.run._config import cooper_of, is_written
from cooper.train import CooperConfig


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_valid_and_survives_a_round_trip(name: str, tmp_path: Path) -> None:
    config = load_config(name)
    path = tmp_path / "config.yaml"
    path.write_text(dump(config), encoding="utf-8")
    assert load_config(str(path)) == config
    assert dump(load_config(str(path))) == path.read_text("utf-8")


def test_every_key_is_written_with_its_value() -> None:
    tree = yaml.safe_load(dump(load_config("sums", ["train.steps=7"])))
    assert tree["train"]["steps"] == 7
    assert tree["cooper"]["updates"] == CooperConfig().updates
    assert tree["data"] == {"train": None, "eval": None, "labelled": None, "heldout": 200}


def test_changes_are_read_as_yaml() -> None:
    changes = ["train.learning_rate=1e-3", "task.options.noise=2e-2", "data.train=[a.json, b.json]"]
    config = load_config("sums", [*changes, "alarm.gap=null", "cooper.pair_reference=false"])
    assert config.train.learning_rate == 1e-3
    assert config.task.options == {"base": "strong", "noise": 0.02}
    assert config.data.train == [Path("a.json"), Path("b.json")]
    assert config.alarm.gap is None
    assert not config.cooper.pair_reference


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("train.stepz=1", "unknown key 'train.stepz'"),
        ("stepz=1", "unknown key 'stepz'"),
        ("train.steps=many", "train.steps: Input should be a valid integer.*got 'many'"),
        ("train.steps=-1", "train.steps: .*greater than or equal to 0, got -1"),
        ("train=3", "train: .*got 3"),
        ("train.steps.more=3", "'steps' is a value"),
        ("arm=clever", "arm: .*'cooper-paper'.*got 'clever'"),
        ("train.steps", "expected key=value"),
        ("=3", "expected key=value"),
        ("train.steps=[1", "not YAML"),
        ("paper.updatez=1", "paper: unknown key 'updatez'"),
        ("paper.updates=-1", "paper: updates: .*got -1"),
        ("alarm.action=shout", "alarm.action: .*'refresh'.*got 'shout'"),
        ("train.generations=1", "generations is 1: a group of one has no baseline"),
        ("seed=4294967296", "seed: .*less than or equal to 4294967295"),
        ("train.learning_rate=.inf", "train.learning_rate: .*finite number, got inf"),
        ("cooper.learning_rate=.inf", "cooper.learning_rate: .*finite number, got inf"),
        ("alarm.gap=.inf", "alarm.gap: .*finite number, got inf"),
        ("policy.hidden=0", "policy.hidden: .*got 0"),
        ("policy.heads=0", "policy.heads: .*got 0"),
        ("policy.heads=5", "policy: hidden is 96; expected a multiple of heads = 5"),
        ("reward_model.heads=32", "hidden is 96; expected a multiple of 2 x heads = 64"),
        ("reward_model.layers=0", "reward_model.layers: .*got 0"),
        ("reward_model.epochs=0", "reward_model.epochs: .*greater than 0, got 0"),
        ("train.micro_batch=100", "16 x 16 = 256; expected a multiple of micro_batch = 100"),
    ],
)
def test_a_bad_change_is_one_line_that_names_it(change: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        load_config("sums", ["train.steps=3", change])
    assert "\n" not in str(error.value)


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"unknown preset 'sumz'; expected one of forms, .*sums"):
        load_config("sumz")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"train: [", "not YAML"),
        (b"- a\n- b\n", "expected a mapping of sections, found list"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"train: {steps: 1, stepz: 2}", "unknown key 'train.stepz'"),
    ],
)
def test_a_bad_file_is_one_line_that_names_it(
    content: bytes | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=said) as error:
        load_config(str(path))
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_what_the_arms_do() -> None:
    config = load_config("sums")
    made = {arm: cooper_of(config.model_copy(update={"arm": arm})) for arm in ARMS}
    assert made["cooper"] == config.cooper
    assert made["repaired"] == config.cooper.model_copy(update={"updates": 0})
    assert made["cooper-paper"] == CooperConfig.paper(**config.paper)
    assert (made["frozen"].updates, made["frozen"].warmup_batches) == (0, 0)
    assert made["frozen"].reward == "proxy"
    assert made["rule"].reward == made["oracle"].reward == "rule"
    assert made["rule"].updates == 0


def test_the_same_configuration_however_it_is_spelled(tmp_path: Path) -> None:
    config, path = load_config("sums"), tmp_path / "config.yaml"
    tree = yaml.safe_load(dump(config))
    path.write_text(yaml.safe_dump(dict(reversed(tree.items()))), encoding="utf-8")
    assert is_written(config, path)
    assert not is_written(load_config("sums", ["seed=1"]), path)
