class Singleton:
    _instances = {}

    def __new__(cls, *args, **kwargs):
        if cls not in cls._instances:
            cls._instances[cls] = super().__new__(cls)
        return cls._instances[cls]


class Settings(Singleton):
    def __init__(self, debug=False):
        self.debug = debug


class Borg:
    _shared = {}

    def __init__(self, **values):
        self._shared.update(values)

    def __getattr__(self, name):
        try:
            return Borg._shared[name]
        except KeyError:
            raise AttributeError(name) from None


print(Settings(True) is Settings(), Settings().debug, Borg(a=1).a, Borg().a, hasattr(Borg(), "z"))
