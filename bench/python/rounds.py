"""Rounds of contestants in turns. Ratios compare the contestants' figures within a round."""
import random
import statistics


def rounds_of(contestants, count):
    """{name: [figure of each round]}. Calls each contestant once a round, in random order; it returns a figure."""
    figures = {name: [] for name in contestants}
    for each in contestants.values():
        each()
    for _ in range(count):
        for name in random.sample(list(contestants), len(contestants)):
            figures[name].append(contestants[name]())
    return figures


def spread(figures, form="{:.2f}"):
    """The median and the quartiles, such as 1.02 (1.01-1.04)."""
    low, middle, high = statistics.quantiles(figures, n=4, method="inclusive")
    return f"{form} ({form}-{form})".format(middle, low, high)


def show(title, heads, rows):
    rows = [heads, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    print(f"\n{title}\n")
    for row in rows:
        print("  " + "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]))
