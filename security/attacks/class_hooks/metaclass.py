# fence: rejected | walls: -
class Meta(type):
    def __prepare__(name, bases):
        print("BREACHED")
        return {}
class A(metaclass=Meta):
    pass
