def step(cells):
    counts = {}
    for x, y in cells:
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if dx or dy:
                    counts[x + dx, y + dy] = counts.get((x + dx, y + dy), 0) + 1
    return {c for c, n in counts.items() if n == 3 or (n == 2 and c in cells)}


cells = {(1, 0), (1, 1), (1, 2)}
for _ in range(2):
    print("\n".join("".join("#" if (x, y) in cells else "." for x in range(3)) for y in range(3)), end="\n\n")
    cells = step(cells)
