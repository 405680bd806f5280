# fence: error | walls: -
# CPython issues 138479 and 155752: an alias believes what its arguments answer, and takes a number for an address.
class Forger:
    def __getattr__(self, name):
        if name == "__typing_subst__":
            return lambda item: print("BREACHED")
        raise AttributeError(name)


print(dict[Forger(), int][str])
