def knapsack(items, capacity):
    best = [0] * (capacity + 1)
    for weight, value in items:
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[capacity]


def change(amount, coins):
    best = [0] + [float("inf")] * amount
    for a in range(1, amount + 1):
        best[a] = min((best[a - c] + 1 for c in coins if c <= a), default=float("inf"))
    return best[amount]


print(knapsack([(2, 3), (3, 4), (4, 5), (5, 6)], 5), change(63, [1, 5, 10, 21, 25]), change(3, [2]))
