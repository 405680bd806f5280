from collections import deque
import heapq

graph = {"a": {"b": 1, "c": 4}, "b": {"c": 2, "d": 5}, "c": {"d": 1}, "d": {}}


def bfs(start, goal):
    queue, seen = deque([[start]]), {start}
    while queue:
        path = queue.popleft()
        if path[-1] == goal:
            return path
        for n in graph[path[-1]]:
            if n not in seen:
                seen.add(n)
                queue.append([*path, n])


def dijkstra(start):
    best, heap = {}, [(0, start)]
    while heap:
        cost, node = heapq.heappop(heap)
        if node in best:
            continue
        best[node] = cost
        for n, w in graph[node].items():
            heapq.heappush(heap, (cost + w, n))
    return best


def topological():
    order, done = [], set()

    def visit(n):
        if n not in done:
            done.add(n)
            for m in graph[n]:
                visit(m)
            order.insert(0, n)

    for n in graph:
        visit(n)
    return order


print(bfs("a", "d"), dijkstra("a"), topological())
