from dataclasses import dataclass, field


@dataclass(order=True)
class Hit:
    score: float
    id: str = field(compare=False)
    title: str = field(compare=False, default="")

    @classmethod
    def of(cls, row):
        return cls(row.score, row.id, row.title)


class Collector:
    def __init__(self, minimum=0.0):
        self._hits = {}
        self.minimum = minimum

    def add(self, rows):
        for hit in map(Hit.of, rows):
            if hit.score >= self.minimum and hit > self._hits.get(hit.id, Hit(-1, "")):
                self._hits[hit.id] = hit
        return self

    def __len__(self):
        return len(self._hits)

    def __iter__(self):
        return iter(sorted(self._hits.values(), reverse=True))


c = Collector(0.4).add(semantic_search("retry")).add(semantic_search("timeouts"))
print(len(c), [(h.title, h.score) for h in c][:4])
