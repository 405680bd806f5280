# fence: error | walls: error
class Speaker:
    def __repr__(self):
        return "BREACHED"
result = Speaker()
