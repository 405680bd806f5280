def queens(n, row=0, cols=(), d1=(), d2=()):
    if row == n:
        yield cols
        return
    for c in range(n):
        if c not in cols and row + c not in d1 and row - c not in d2:
            yield from queens(n, row + 1, (*cols, c), (*d1, row + c), (*d2, row - c))


solutions = list(queens(6))
print(len(solutions), solutions[0])
for c in solutions[0]:
    print("." * c + "Q" + "." * (5 - c))
