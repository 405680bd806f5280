# fence: error | walls: -
import csv


class Lines:
    inside = False

    def __iter__(self):
        return self

    def __next__(self):
        if self.inside:
            return "a,b"
        self.inside = True
        next(rows.reader)
        print("BREACHED")
        raise SystemExit


rows = csv.DictReader(Lines(), fieldnames=["a", "b"])
next(rows)
