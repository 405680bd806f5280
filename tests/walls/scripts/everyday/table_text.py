rows = [("Name", "Qty", "Price"), ("apple", 3, 1.5), ("kiwi", 12, 0.25), ("melon", 1, 3.0)]
widths = [max(len(str(row[i])) for row in rows) for i in range(3)]
line = "+".join("-" * (w + 2) for w in widths)
for n, row in enumerate(rows):
    print("|".join(f" {cell!s:<{w}} " if i == 0 else f" {cell!s:>{w}} " for i, (cell, w) in enumerate(zip(row, widths))))
    if n == 0:
        print(line)
