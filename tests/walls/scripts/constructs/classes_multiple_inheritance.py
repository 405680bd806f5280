class Base:
    def __init__(self, **options):
        self.options = options

    def describe(self):
        return ["Base"]


class Loud(Base):
    def __init__(self, volume=1, **options):
        super().__init__(**options)
        self.volume = volume

    def describe(self):
        return ["Loud", *super().describe()]


class Named(Base):
    def __init__(self, name="?", **options):
        super().__init__(**options)
        self.name = name

    def describe(self):
        return ["Named", *super().describe()]


class Speaker(Loud, Named):
    def describe(self):
        return ["Speaker", *super(Speaker, self).describe()]


s = Speaker(volume=3, name="bo", extra=True)
print(s.describe(), s.volume, s.name, s.options)
print([c.__name__ for c in Speaker.__mro__], issubclass(Speaker, Base), isinstance(s, (int, Named)))
print(Speaker.__bases__, Speaker.__qualname__, Speaker.__module__)
