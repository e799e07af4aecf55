#!/usr/bin/env python3
"""Writes effect.txt: slowdowns with intervals, smallest differences, and Kendall's W, worked out
without the program's formulas for them: Student's distribution by integrating its density, W from
the mean of Spearman's rank correlations over all pairs of repeats (W = (1 + (m - 1) r) / m; Kendall
1948, Rank Correlation Methods), which needs numbers without ties.

    tests/golden/effect.py >tests/golden/effect.txt
"""
import math
import random
import statistics


def density(t, df):
    c = math.gamma((df + 1) / 2) / (math.sqrt(df * math.pi) * math.gamma(df / 2))
    return c * (1 + t * t / df) ** (-(df + 1) / 2)


def below(t, df, n=4000):
    """P(T <= t), t >= 0: 1/2 and Simpson's rule from 0 to t."""
    h = t / n
    inner = sum((4 if i % 2 else 2) * density(i * h, df) for i in range(1, n))
    return 0.5 + h / 3 * (density(0, df) + inner + density(t, df))


def quantile(p, df):
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle, df) < p else (low, middle)
    return low


def ranks(row):
    order = sorted(row)
    return [order.index(x) + 1 for x in row]


def spearman(a, b):
    n = len(a)
    return 1 - 6 * sum((x - y) ** 2 for x, y in zip(a, b)) / (n * (n * n - 1))


def slowdown(draw):
    n = draw.randint(2, 8)
    base = [draw.uniform(90, 110) for _ in range(n)]
    rates = [b * draw.uniform(0.8, 1.02) for b in base]
    pairs = [1 - x / b for x, b in zip(rates, base)]
    error = statistics.stdev(pairs) / math.sqrt(n)
    t = quantile(0.975, n - 1)
    middle = statistics.fmean(pairs)
    wanted = [middle, middle - t * error, middle + t * error, (t + quantile(0.8, n - 1)) * error]
    print("slowdown", n, *map(repr, base + rates + wanted))


def ranking(draw):
    m, n = draw.randint(2, 5), draw.randint(2, 7)
    rows = [[c + draw.uniform(0, draw.choice([0.1, 3, 30])) for c in range(n)] for _ in range(m)]
    order = [ranks(row) for row in rows]
    pairs = [spearman(order[i], order[k]) for i in range(m) for k in range(i)]
    agreed = sum(len({row[i] < row[k] for row in rows}) == 1 for i in range(n) for k in range(i))
    w = (1 + (m - 1) * statistics.fmean(pairs)) / m
    print("ranking", m, n, *map(repr, [x for row in rows for x in row] + [w]), agreed)


seeded = random.Random(20)
for _ in range(8):
    slowdown(seeded)
for _ in range(8):
    ranking(seeded)
