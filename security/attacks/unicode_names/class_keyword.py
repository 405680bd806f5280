# fence: rejected | walls: -
class Meta(type):
    pass
class Made(ｍetaclass=Meta):
    pass
print("BREACHED" if type(Made) is Meta else "")
