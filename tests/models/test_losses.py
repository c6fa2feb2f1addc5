from __future__ import annotations

import math

import pytest
import torch

from cooper.models import bce, bradley_terry


def test_bradley_terry_by_hand() -> None:
    loss = bradley_terry(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]))
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(2))) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-6)


def test_margin_and_center_by_hand() -> None:
    positive, negative = torch.tensor([1.0]), torch.tensor([0.5])
    loss = bradley_terry(positive, negative, margin=2.0, center=0.1)
    assert loss.item() == pytest.approx(math.log(1 + math.exp(1.5)) + 0.1 * 1.5**2, rel=1e-6)


def test_center_agrees_with_the_formula_of_trl() -> None:
    chosen, rejected = torch.randn(2, 9, generator=torch.Generator().manual_seed(0))
    theirs = -torch.nn.functional.logsigmoid(chosen - rejected).mean()
    theirs = theirs + 0.01 * torch.mean((chosen + rejected) ** 2)
    torch.testing.assert_close(bradley_terry(chosen, rejected, center=0.01), theirs)


def test_bce_by_hand_and_against_torch() -> None:
    logits, labels = torch.tensor([0.3, -1.2, 4.0]), torch.tensor([1.0, 0.25, 0.0])
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
    torch.testing.assert_close(bce(logits, labels), expected)
    weighted = bce(logits, labels, weight=torch.tensor([3.0, 0.0, 1.0]))
    by_hand = (3 * math.log(1 + math.exp(-0.3)) + math.log(1 + math.exp(4))) / 4
    assert weighted.item() == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("bad", [0.0, float("inf"), float("nan")])
def test_masked_is_removed(bad: float) -> None:
    first = torch.tensor([0.5, bad, -1.0], requires_grad=True)
    second = torch.tensor([0.1, bad, 1.0], requires_grad=True)
    keep = torch.tensor([True, False, True])
    for loss, alone in (
        (
            bradley_terry(first, second, where=keep, center=0.1),
            bradley_terry(first[keep], second[keep], center=0.1),
        ),
        (bce(first, keep.float(), where=keep), bce(first[keep], torch.ones(2))),
    ):
        torch.testing.assert_close(loss, alone)
        (gradient,) = torch.autograd.grad(loss, first)
        assert torch.isfinite(gradient).all()
        assert gradient[1] == 0
        assert (gradient[[0, 2]] != 0).all()


def test_all_masked_is_zero_with_zero_gradient() -> None:
    first, second = torch.full((2, 3), float("nan")).requires_grad_().unbind()
    nothing = torch.zeros(3, dtype=torch.bool)
    for loss in (
        bradley_terry(first, second, where=nothing, margin=1.0, center=1.0),
        bce(first, torch.ones(3), where=nothing),
        bce(torch.zeros(3, requires_grad=True), torch.ones(3), weight=torch.zeros(3)),
        bradley_terry(first[:0], second[:0]),
    ):
        assert loss.item() == 0
        loss.backward()


def test_the_released_denominator_agrees_to_six_digits() -> None:
    first, second = torch.randn(2, 8, generator=torch.Generator().manual_seed(1))
    keep = torch.arange(8) < 5
    released = -(torch.nn.functional.logsigmoid(first - second) * keep).sum() / (keep.sum() + 1e-6)
    torch.testing.assert_close(
        bradley_terry(first, second, where=keep), released, rtol=1e-6, atol=0
    )


def test_finite_differences() -> None:
    generator = torch.Generator().manual_seed(2)
    first, second = torch.randn(2, 5, generator=generator, dtype=torch.float64)
    labels = torch.rand(5, generator=generator, dtype=torch.float64)
    keep = torch.tensor([True, True, False, True, True])
    first.requires_grad_()
    second.requires_grad_()

    def pairs(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return bradley_terry(a, b, where=keep, margin=0.3, center=0.2)

    assert torch.autograd.gradcheck(pairs, (first, second))
    assert torch.autograd.gradcheck(lambda a: bce(a, labels, where=keep, weight=labels), (first,))


def test_permutation_of_the_rows_changes_nothing() -> None:
    first, second = torch.randn(2, 6, generator=torch.Generator().manual_seed(3)).double()
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    torch.testing.assert_close(
        bradley_terry(first, second), bradley_terry(first[order], second[order])
    )


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"positive and negative .* \(2,\) and \(3,\)"):
        bradley_terry(torch.zeros(2), torch.zeros(3))
    with pytest.raises(ValueError, match="logits and labels"):
        bce(torch.zeros(2), torch.zeros(2, 1))
    with pytest.raises(ValueError, match=r"where: got shape \(1,\)"):
        bce(torch.zeros(2), torch.zeros(2), where=torch.ones(1, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"weight: got shape \(1,\)"):
        bce(torch.zeros(2), torch.zeros(2), weight=torch.ones(1))
