# fence: ok | walls: -
# CPython issue 143635: a list that shrinks while its alias is shown is read beyond its end.
class First:
    def __repr__(self):
        shown[1] = "BREACHED"
        return "first"


shown = [First(), "second"]
print(dict[shown, int])
