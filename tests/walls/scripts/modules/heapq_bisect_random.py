import bisect
import heapq
import random

heap = [5, 1, 4]
heapq.heapify(heap); heapq.heappush(heap, 0)
print(heapq.heappop(heap), heapq.nlargest(2, heap), heapq.nsmallest(2, ["bb", "a"], key=len), heapq.heappushpop(heap, 9), heapq.heapreplace(heap, 7), list(heapq.merge([1, 4], [2, 3])), heap)
grades = [60, 70, 80]
print(bisect.bisect(grades, 70), bisect.bisect_left(grades, 70), ["F", "D", "C", "B"][bisect.bisect(grades, 75)], bisect.bisect_right([(1, "a"), (2, "b")], 1, key=lambda p: p[0]))
bisect.insort(grades, 65); print(grades)
random.seed(42)
print(random.random(), random.randint(1, 6), random.choice("abc"), random.choices([1, 2], weights=[9, 1], k=5), random.sample(range(100), 3), random.uniform(1, 2), random.gauss(0, 1), random.randrange(0, 10, 3), random.getrandbits(8), random.triangular(), random.betavariate(1, 2), random.expovariate(1))
deck = list(range(8)); random.shuffle(deck); print(deck)
rng = random.Random("seed"); print(rng.random(), rng.sample("abcdef", 2), random.Random(1).randbytes(3))
