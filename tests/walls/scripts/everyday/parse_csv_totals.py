import csv
import io
from collections import Counter

data = "date,team,points\n2026-01-01,red,3\n2026-01-02,blue,5\n2026-01-03,red,4\n"
totals = Counter()
for row in csv.DictReader(io.StringIO(data)):
    totals[row["team"]] += int(row["points"])
print(totals.most_common(), max(totals, key=totals.get))
