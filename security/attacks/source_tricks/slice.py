# fence: rejected | walls: -
class Keep:
    def __getitem__(self, key):
        return key.start
print("BREACHED" if Keep()[print.__self__:] else "")
