grid = [[r * 4 + c for c in range(4)] for r in range(3)]


def spiral(m):
    m = [row[:] for row in m]
    while m:
        yield from m.pop(0)
        m = [list(r) for r in zip(*m)][::-1]


print(list(spiral(grid)), [list(r) for r in zip(*grid[::-1])], [row[::-1] for row in grid], sum(grid[i][i] for i in range(3)))
for row in grid:
    print(*(f"{x:>3}" for x in row))
print({(r, c) for r, row in enumerate(grid) for c, v in enumerate(row) if v % 5 == 0}, any(5 in row for row in grid), max(map(max, grid)), [sum(col) for col in zip(*grid)])
