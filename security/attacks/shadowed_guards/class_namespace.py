# fence: rejected | walls: -
class Meta(type):
    @classmethod
    def __prepare__(cls, name, bases):
        return {"print": lambda *words: None, "@target": lambda owner, name: owner, "shadowed": True}
class Made(metaclass=Meta):
    found = shadowed
print("BREACHED" if Made.found else "")
