"""The alarm on series of your own: no reward model and no trainer of this project needed.

Three made-up runs of 40 steps. In the first the reward model stays with the rule, in the second it
leaves it, in the third the rule reads so few right answers that the honest gap is large.
"""

from __future__ import annotations

import math

from cooper.audit import AlarmConfig, alarm_init, alarm_update, gap


def rise(step: int, start: float, end: float, middle: int) -> float:
    return start + (end - start) / (1 + math.exp(-(step - middle) / 3))


def watch(name: str, config: AlarmConfig, proxy: list[float], **series: list[float]) -> None:
    state = alarm_init()
    for step, value in enumerate(proxy):
        now = {key: values[step] for key, values in series.items()}
        state, finding = alarm_update(state, config, proxy=value, **now)
        if finding is not None:
            print(f"{name}: {finding.verdict}")
    if state.alarm_step is None:
        print(f"{name}: no alarm")


def main() -> None:
    steps = range(40)
    default = AlarmConfig()

    rule = [rise(s, 0.35, 0.55, 20) for s in steps]
    watch("honest", default, [r + 0.05 for r in rule], rule=rule)

    hacked = [rise(s, 0.40, 0.97, 20) for s in steps]
    falling = [rise(s, 0.35, 0.05, 26) for s in steps]
    watch(
        "hacked",
        default,
        hacked,
        rule=falling,
        wrong=[rise(s, 0.20, 0.95, 20) for s in steps],
        valid_rate=[rise(s, 0.90, 0.10, 26) for s in steps],
    )

    # The rule reads one right answer in eight. `gap` would cry wolf; `wrong` does not.
    low = [rise(s, 0.08, 0.12, 20) for s in steps]
    fair = [rise(s, 0.63, 0.90, 20) for s in steps]
    watch("low recall, gap on", default, fair, rule=low, wrong=[0.1] * 40)
    watch("low recall, gap=None", AlarmConfig(gap=None), fair, rule=low, wrong=[0.1] * 40)

    # One batch instead of a series: the gap with its interval.
    print(gap([0.9, 0.8, 0.9, 0.7, 0.9, 0.8], [1, 0, 0, 0, 1, 0]).verdict)


if __name__ == "__main__":
    main()
