# fence: error | walls: -
# A reader of rows that its own input advances loses its row, and goes on writing into it.
import csv


class Lines:
    inside = False

    def __iter__(self):
        return self

    def __next__(self):
        if self.inside:
            return "a,b"
        self.inside = True
        next(rows)
        print("BREACHED")
        raise SystemExit


rows = csv.reader(Lines())
next(rows)
