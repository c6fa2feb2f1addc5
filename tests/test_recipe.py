from __future__ import annotations

import functools
import pickle

import numpy as np
import pytest
import torch

from cooper import Rewards, Status
from cooper.advantage import dr_grpo, grpo
from cooper.combine import strata, weighted
from cooper.errors import UserError
from cooper.recipe import Recipe

NAMES = ("rule", "proxy", "surely_wrong")
VALUES = np.array([[1, 0.5, 0], [0, 0.9, 1], [0, 0.5, 0], [0, 0.3, 0], [1, 0.2, 0]])
GROUP = np.array([3, 3, 3, 8, 8])


def first_column(components):
    return components[:, 0]


def halve(rewards, *, by=2.0):
    return rewards / by


def spread(rewards, *, where):
    share = where / where.sum(axis=1)[:, None]
    return rewards[:, None] * share


def token_advantage(rewards, *, group, where=None):
    return rewards


def test_is_the_stages_one_after_the_other():
    recipe = Recipe(NAMES, {"strata": {"unsure": 0.5}}, advantage={"grpo": {"floor": 0.1}})
    result = recipe(VALUES, group=GROUP)
    reward = strata(VALUES, names=NAMES, unsure=0.5)
    assert isinstance(result, Rewards)
    np.testing.assert_array_equal(result.reward, reward)
    np.testing.assert_array_equal(result.advantages, grpo(reward, group=GROUP, floor=0.1))
    assert result.valid.all()
    assert result.names == NAMES
    assert result.component("proxy").tolist() == VALUES[:, 1].tolist()


def test_missing_scores_never_become_zero():
    recipe = Recipe(["rule", "proxy"], {"weighted": {"weights": {"rule": 1, "proxy": 1}}})
    values = np.array([[1, np.nan], [np.inf, np.nan], [0, 0.5]])
    result = recipe(values, group=[0, 0, 0], where=np.isfinite(values))
    assert result.valid.tolist() == [True, False, True]
    assert result.reward.tolist() == [1, 0, 0.5]
    assert result.advantages[1] == 0
    np.testing.assert_array_equal(result.advantages[[0, 2]], grpo([1.0, 0.5], group=[0, 0]))
    assert np.isnan(result.values[1]).all()
    assert result.status[0] == (Status.OK, Status.NOT_APPLICABLE)


def test_unsure_without_a_proxy_is_missing_although_the_rule_has_spoken():
    where = np.ones((5, 3), bool)
    where[2, 1] = False
    result = Recipe(NAMES, "strata")(VALUES, group=GROUP, where=where)
    assert result.valid.tolist() == [True, True, False, True, True]


def test_a_function_that_ignores_the_mask_cannot_invent_a_reward():
    recipe = Recipe(["a", "b"], first_column, advantage=dr_grpo)
    where = np.array([[False, True], [True, True], [False, False]])
    result = recipe(np.ones((3, 2)), group=[0, 0, 0], where=where)
    assert result.valid.tolist() == [False, True, False]
    assert (result.advantages == 0).all()


def test_groups_without_an_anchor_get_exactly_zero():
    result = Recipe(NAMES, "strata")(VALUES, group=GROUP, anchored=[True] + [False] * 4)
    assert (result.advantages[3:] == 0).all()
    assert (result.advantages[:3] != 0).any()
    free = Recipe(NAMES, "strata")(VALUES, group=GROUP)
    np.testing.assert_array_equal(result.advantages[:3], free.advantages[:3])
    np.testing.assert_array_equal(result.reward, free.reward)
    none = Recipe(NAMES, "strata")(VALUES, group=GROUP, anchored=np.zeros(5, bool))
    assert (none.advantages == 0).all()


def test_a_missing_sample_is_no_anchor():
    where = np.ones((5, 3), bool)
    where[4] = False
    anchored = VALUES[:, 0] == 1
    result = Recipe(NAMES, "strata")(VALUES, group=GROUP, where=where, anchored=anchored)
    assert (result.advantages[3:] == 0).all()


def test_torch_in_torch_out():
    recipe = Recipe(NAMES, "strata", advantage={"grpo": {"epsilon": 0}})
    tensors = torch.tensor(VALUES, dtype=torch.float32)
    anchored = torch.tensor([True, False, False, False, True])
    result = recipe(tensors, group=torch.from_numpy(GROUP), anchored=anchored)
    expected = recipe(VALUES, group=GROUP)
    for name in ("values", "where", "reward", "valid", "advantages"):
        assert isinstance(getattr(result, name), torch.Tensor)
        np.testing.assert_allclose(getattr(result, name), getattr(expected, name), rtol=1e-6)
    assert result.advantages.dtype == torch.float32


def test_columns_by_name():
    recipe = Recipe(NAMES, "strata")
    names = ("length", "surely_wrong", "rule", "proxy")
    values = np.column_stack([np.full(5, 40.0), VALUES[:, 2], VALUES[:, 0], VALUES[:, 1]])
    result = recipe(values, group=GROUP, names=names)
    np.testing.assert_array_equal(result.reward, recipe(VALUES, group=GROUP).reward)
    assert result.names == names
    assert result.component("length").tolist() == [40.0] * 5


def test_shape_stages():
    quarter = Recipe(["a"], first_column, shape=[halve, functools.partial(halve, by=2)])
    result = quarter(np.array([[4.0], [8.0]]), group=[0, 0])
    assert result.reward.tolist() == [1.0, 2.0]


def test_credit_gives_token_advantages():
    recipe = Recipe(["a"], first_column, credit=spread, advantage=token_advantage)
    tokens = np.array([[True, True, False], [True, True, True]])
    where = np.array([[True], [False]])
    result = recipe(np.array([[1.0], [5.0]]), group=[0, 0], tokens=tokens, where=where)
    assert result.advantages.tolist() == [[0.5, 0.5, 0], [0, 0, 0]]
    with pytest.raises(ValueError, match="tokens: credit spread needs"):
        recipe(np.array([[1.0], [5.0]]), group=[0, 0])


def test_dotted_path_equals_name_equals_function():
    options = {"weights": {"a": 2.0}}
    named = Recipe(["a"], {"weighted": options})
    dotted = Recipe(["a"], {"cooper.combine:weighted": options})
    passed = Recipe(["a"], functools.partial(weighted, **options), advantage=grpo)
    values = np.array([[1.0], [2.0]])
    for recipe in (dotted, passed):
        np.testing.assert_array_equal(
            recipe(values, group=[0, 0]).advantages, named(values, group=[0, 0]).advantages
        )


def test_yaml_equals_python(tmp_path):
    path = tmp_path / "recipe.yaml"
    path.write_text(
        """
components: [rule, proxy, surely_wrong]
combine: {strata: {unsure: 0.5}}
shape:
advantage:
  grpo: {epsilon: 0, floor: 0.1}
"""
    )
    recipe = Recipe.from_yaml(path)
    assert recipe == Recipe(
        NAMES, {"strata": {"unsure": 0.5}}, advantage={"grpo": {"epsilon": 0, "floor": 0.1}}
    )
    assert recipe.combine == {"strata": {"unsure": 0.5}}


def test_prints_as_a_table():
    text = str(Recipe(NAMES, "strata", shape=[halve], advantage={"grpo": {"floor": 0.1}}))
    assert text.splitlines() == [
        "stage       method                     options    paper",
        "components  rule, proxy, surely_wrong",
        "combine     strata",
        "shape       halve",
        "advantage   grpo                       floor=0.1  arXiv:2402.03300",
    ]


def test_pickles_and_leaves_input_alone():
    recipe = pickle.loads(pickle.dumps(Recipe(NAMES, "strata")))
    values = VALUES.copy()
    recipe(values, group=GROUP)
    np.testing.assert_array_equal(values, VALUES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"combine": "wieghted"}, r"combine: no method 'wieghted'; choose one of \['strata', 'we"),
        ({"advantage": "ppo"}, r"advantage: no method 'ppo'; choose one of \['dr_grpo', 'grpo'\]"),
        ({"combine": {"strata": {"unsur": 1}}}, r"combine strata: unknown option \['unsur'\]; it "),
        ({"combine": "weighted"}, r"combine weighted: missing option \['weights'\]"),
        ({"combine": {"weighted": {"weights": {"rule": 1}}}}, "weights: .*without a weight"),
        ({"combine": {"strata": {"rule": "exact"}}}, "rule: no component 'exact'"),
        ({"combine": {"strata": {"right": "high"}}}, "recipe: .*not supported"),
        ({"combine": {"strata": {}, "weighted": {}}}, "combine: expected one name"),
        ({"combine": {"strata": 0.5}}, "combine: expected strata with a mapping of options"),
        ({"combine": 3}, "combine: expected a name, a dotted path or a function, got 3"),
        ({"combine": "no_such_package:f"}, "combine: 'no_such_package:f': No module"),
        ({"combine": ":f"}, "combine: ':f': Empty module name"),
        ({"combine": "..up:f"}, "combine: '..up:f': "),
        ({"combine": {"weighted": {"weights": [1]}}}, "weights: expected a mapping"),
        ({"components": [["rule"]]}, "components: expected different names"),
        ({"shape": 3}, "shape: expected a list of stages, got 3"),
        ({"combine": "cooper.combine:f"}, "combine: no method 'cooper.combine:f'"),
        ({"shape": ["no_such_shape"]}, "shape: .*no_such_shape"),
        ({"shape": "par"}, "shape: expected a list"),
        ({"advantage": {"grpo": {"floor": -1}}}, "epsilon, floor"),
        ({"components": []}, "components: expected different names"),
        ({"components": "rule"}, "components: expected different names"),
        ({"components": ["rule", "rule"]}, "components: expected different names"),
    ],
)
def test_mistakes_are_found_when_it_is_built(arguments, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**{"components": NAMES, "combine": "strata", **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": np.ones(5)}, r"values: expected shape \(B, K\), got \(5,\)"),
        ({"values": np.ones((0, 3)), "group": []}, "group: empty"),
        ({"values": np.ones((5, 2))}, "names: expected K = 2 names with"),
        ({"names": ("rule", "proxy", "x")}, "names: expected K = 3 names with"),
        ({"group": [0, 1]}, r"group: expected shape \(B,\) with B = 5 as in values"),
        ({"where": np.ones(5, bool)}, r"where: expected shape \(5, 3\), got \(5,\)"),
        ({"anchored": np.ones(4, bool)}, r"anchored: expected shape \(5,\), got \(4,\)"),
        ({"anchored": np.ones(5)}, "anchored: expected booleans"),
        ({"values": np.full((5, 3), np.nan)}, r"values: nan at \[0, 0\].*where=False"),
        ({"status": [[Status.OK]] * 5}, "status: expected B = 5 rows of K = 3"),
    ],
)
def test_bad_batches(arguments, message):
    arguments = {"values": VALUES, "group": GROUP, **arguments}
    with pytest.raises(ValueError, match=message):
        Recipe(NAMES, "strata")(arguments.pop("values"), **arguments)


def to_nan(rewards):
    return rewards * np.nan


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ({"combine": lambda c: c}, r"combine <lambda>: expected shape \(5,\), got \(5, 3\)"),
        ({"shape": [to_nan]}, "shape to_nan: nan at"),
        ({"advantage": lambda r: r[:, None]}, r"advantage <lambda>: expected shape \(5,\)"),
        ({"advantage": to_nan}, "advantage to_nan: nan at"),
    ],
)
def test_bad_stages_are_named(stage, message):
    recipe = Recipe(**{"components": NAMES, "combine": "strata", **stage})
    with pytest.raises(ValueError, match=message):
        recipe(VALUES, group=GROUP)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("components: [a]\ncombine: nothing\n", "combine: no method 'nothing'"),
        ("components: [a]\n", "recipe: missing .'combine'.; the keys are"),
        ("components: [a]\ncombine: strata\nadvantages: grpo\n", "recipe: unknown .'advantages'"),
        ("[1, 2]", "recipe: expected a mapping"),
        ("a: [", "while parsing"),
        ("components: [a]\ncombine: strata\nshape: 3\n", "shape: expected a list of stages"),
        ("components: 3\ncombine: strata\n", "components: expected different names"),
    ],
)
def test_a_bad_file_is_a_users_mistake_on_one_line(tmp_path, text, message):
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=message) as caught:
        Recipe.from_yaml(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no\.yaml: No such file"):
        Recipe.from_yaml(tmp_path / "no.yaml")
