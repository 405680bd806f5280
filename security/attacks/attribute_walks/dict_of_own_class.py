# fence: error | walls: -
class Own:
    def method(self):
        pass
print("BREACHED" if vars(Own)["__dict__"].__get__(Own()) is not None else "")
