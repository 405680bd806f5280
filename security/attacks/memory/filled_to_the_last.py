# fence: - | walls: memory | limits: memory_bytes=67108864
# Memory is full to the last byte, and a global name holds it: nothing is left to report that with.
held = []
for size, most in ((2**20, 100), (2**14, 100), (2**10, 1_000), (2**5, 10_000)):
    try:
        for _ in range(most):
            held.append(bytes(size))
    except MemoryError:
        continue
for _ in range(1_000_000):
    held.append([held])
print("BREACHED")
