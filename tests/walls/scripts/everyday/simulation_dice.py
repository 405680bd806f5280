import random
from collections import Counter

rng = random.Random(7)
rolls = Counter(rng.randint(1, 6) + rng.randint(1, 6) for _ in range(2000))
for total in sorted(rolls):
    print(f"{total:>2} {'#' * (rolls[total] // 20)} {rolls[total]}")
inside = sum(rng.random() ** 2 + rng.random() ** 2 <= 1 for _ in range(5000))
print(4 * inside / 5000)
