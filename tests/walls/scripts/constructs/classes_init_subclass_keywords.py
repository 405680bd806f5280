class Plugin:
    plugins = {}

    def __init_subclass__(cls, /, key=None, priority=0, **options):
        super().__init_subclass__(**options)
        cls.key = key or cls.__name__.lower()
        cls.priority = priority
        Plugin.plugins[cls.key] = cls


class Csv(Plugin, key="csv", priority=2):
    pass


class Json(Plugin):
    pass


print(sorted(Plugin.plugins), Csv.priority, Json.key)
try:
    class Bad(Plugin, colour="red"):
        pass
except TypeError as error:
    print(type(error).__name__, error)
