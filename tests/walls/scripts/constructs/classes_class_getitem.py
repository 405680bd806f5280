class Table:
    def __class_getitem__(cls, item):
        return f"{cls.__name__}[{item!r}]"


class Sub(Table):
    pass


print(Table[int], Sub["a", 1])
print(list[int], dict[str, int], tuple[int, ...])
