class Positive:
    def __set_name__(self, owner, name):
        self._name = "_" + name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return getattr(instance, self._name)

    def __set__(self, instance, value):
        if value <= 0:
            raise ValueError(f"{self._name[1:]} must be positive, not {value}")
        setattr(instance, self._name, value)

    def __delete__(self, instance):
        delattr(instance, self._name)


class Box:
    width = Positive()
    height = Positive()

    def __init__(self, width, height):
        self.width = width
        self.height = height

    @property
    def area(self):
        "The area."
        return self.width * self.height

    @area.setter
    def area(self, value):
        self.height = value / self.width

    @area.deleter
    def area(self):
        del self.height


b = Box(2, 3)
b.area = 10
print(b.area, b.height, Box.area.__doc__, isinstance(Box.width, Positive), vars(b))
try:
    Box(0, 1)
except ValueError as error:
    print(error)
del b.area
print(hasattr(b, "height"))
try:
    class ReadOnly:
        @property
        def value(self):
            return 1
    ReadOnly().value = 2
except AttributeError as error:
    print(error)
