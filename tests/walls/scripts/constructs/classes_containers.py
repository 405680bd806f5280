class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, key):
        if isinstance(key, tuple):
            r, c = key
            return self.rows[r][c]
        if isinstance(key, slice):
            return Matrix(self.rows[key])
        return self.rows[key]

    def __setitem__(self, key, value):
        r, c = key
        self.rows[r][c] = value

    def __delitem__(self, row):
        del self.rows[row]

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        yield from self.rows

    def __reversed__(self):
        return iter(self.rows[::-1])

    def __contains__(self, value):
        return any(value in row for row in self.rows)

    def __bool__(self):
        return bool(self.rows)


m = Matrix([[1, 2], [3, 4], [5, 6]])
m[0, 1] += 10
m[1][0] *= 2
print(m[0, 1], m[1:].rows, len(m), list(m), list(reversed(m)), 12 in m, 99 in m, bool(Matrix([])))
del m[0]
(first, *_), last = m
print(first, last)


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n + 1

    def __length_hint__(self):
        return self.n


print(list(Countdown(3)), sum(Countdown(4)), max(Countdown(2)), dict(zip("abc", Countdown(3))))
