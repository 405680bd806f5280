import bisect

breaks, labels = [10, 50, 100], ["tiny", "small", "medium", "large"]
print([labels[bisect.bisect_right(breaks, v)] for v in (5, 10, 70, 500)])
times = [1, 4, 7, 9]
print(times[bisect.bisect_left(times, 5)], bisect.bisect_left(times, 9), [t for t in times if 3 <= t <= 8])
