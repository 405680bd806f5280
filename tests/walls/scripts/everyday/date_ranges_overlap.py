from datetime import datetime, timedelta

bookings = [("a", "09:00", "10:30"), ("b", "10:00", "11:00"), ("c", "11:00", "12:00")]
parsed = [(n, *(datetime.strptime(t, "%H:%M") for t in (s, e))) for n, s, e in bookings]
print([(x, y) for i, (x, s1, e1) in enumerate(parsed) for y, s2, e2 in parsed[i + 1 :] if s1 < e2 and s2 < e1])
print(sum(((e - s) for _, s, e in parsed), timedelta()), {n: f"{(e - s).seconds // 60} min" for n, s, e in parsed})
merged = []
for _, s, e in sorted(parsed, key=lambda b: b[1]):
    if merged and s <= merged[-1][1]:
        merged[-1][1] = max(merged[-1][1], e)
    else:
        merged.append([s, e])
print([(s.strftime("%H:%M"), e.strftime("%H:%M")) for s, e in merged])
