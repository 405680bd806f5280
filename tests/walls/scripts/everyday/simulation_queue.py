import heapq
import random

random.seed(3)
events, now, served, waiting, busy = [(random.expovariate(1.0), "arrive", i) for i in range(5)], 0, [], [], False
heapq.heapify(events)
while events:
    now, kind, who = heapq.heappop(events)
    if kind == "arrive":
        waiting.append(who)
    else:
        busy = False
        served.append((who, round(now, 3)))
    if waiting and not busy:
        busy = True
        heapq.heappush(events, (now + 0.7, "leave", waiting.pop(0)))
print(served)
