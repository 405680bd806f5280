from collections import deque
from itertools import islice


def moving(values, n):
    window = deque(maxlen=n)
    for v in values:
        window.append(v)
        if len(window) == n:
            yield sum(window) / n


data = [1, 2, 6, 9, 4, 3]
print(list(moving(data, 3)), list(islice(moving(range(100), 10), 2)), [round(b / a - 1, 3) for a, b in zip(data, data[1:])])
ema, out = data[0], []
for v in data:
    ema = 0.5 * v + 0.5 * ema
    out.append(ema)
print(out)
