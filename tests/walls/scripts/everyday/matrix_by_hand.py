def multiply(a, b):
    return [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]


def transpose(m):
    return [list(r) for r in zip(*m)]


def determinant(m):
    if len(m) == 1:
        return m[0][0]
    return sum((-1) ** c * m[0][c] * determinant([r[:c] + r[c + 1 :] for r in m[1:]]) for c in range(len(m)))


a = [[1, 2], [3, 4]]
print(multiply(a, a), transpose([[1, 2, 3]]), determinant([[2, 0, 1], [1, 3, 2], [1, 1, 1]]), [[int(i == j) for j in range(3)] for i in range(3)])
for row in a:
    print(" ".join(f"{x:4d}" for x in row))
