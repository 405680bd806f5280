class Trie:
    def __init__(self):
        self.root = {}

    def add(self, word):
        node = self.root
        for ch in word:
            node = node.setdefault(ch, {})
        node["$"] = word

    def complete(self, prefix):
        node = self.root
        for ch in prefix:
            if ch not in node:
                return []
            node = node[ch]
        stack, found = [node], []
        while stack:
            for key, value in stack.pop().items():
                found.append(value) if key == "$" else stack.append(value)
        return sorted(found)


t = Trie()
for w in "search seal sea seek fetch".split():
    t.add(w)
print(t.complete("sea"), t.complete("zz"), t.complete(""))
