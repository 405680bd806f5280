class Tree:
    def __init__(self, value):
        self.value, self.left, self.right = value, None, None

    def insert(self, value):
        side = "left" if value < self.value else "right"
        child = getattr(self, side)
        if child:
            child.insert(value)
        else:
            setattr(self, side, Tree(value))
        return self

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.value
        if self.right:
            yield from self.right

    def __contains__(self, value):
        node = self
        while node:
            if node.value == value:
                return True
            node = node.left if value < node.value else node.right
        return False

    @property
    def height(self):
        return 1 + max((t.height for t in (self.left, self.right) if t), default=0)


t = Tree(5)
for v in (2, 8, 1, 9, 3):
    t.insert(v)
print(list(t), 3 in t, 7 in t, t.height)
