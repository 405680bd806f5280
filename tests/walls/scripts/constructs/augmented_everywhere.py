class Box:
    def __init__(self):
        self.n = 1
        self.d = {"k": [1]}
        self._hidden = 5
        self.__secret = 1

    def run(self):
        self.n += 1
        self.d["k"][0] -= 4
        self.d["k"] += [2]
        self._hidden *= 2
        self.__secret += 1
        return self.n, self.d, self._hidden, self.__secret


def get():
    print("once")
    return store


store = {"x": 1, "l": [1, 2, 3, 4]}
get()["x"] += 1
get()["l"][1:3] += [9]
store["l"][-1] **= 2
counts = {}
for ch in "abca":
    counts[ch] = counts.get(ch, 0) + 1
box = Box()
box.n <<= 3
box.d["new"] = box.d.pop("k")
box.d["k"] = [0]
print(store, counts, box.run(), box._hidden)
matrix = [[0] * 3 for _ in range(2)]
matrix[1][2] += 5
matrix[0][:2] = [7, 7]
i = 0
matrix[i][i], i = "moved", 1
print(matrix, i)
class Counter2:
    total = 0
    def add(self, n):
        type(self).total += n
        self.total -= 1
c = Counter2(); c.add(5)
print(Counter2.total, c.total, vars(c))
