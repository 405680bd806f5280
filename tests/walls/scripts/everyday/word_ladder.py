from collections import deque
from string import ascii_lowercase

WORDS = {"hot", "dot", "dog", "lot", "log", "cog", "hit"}


def neighbours(word):
    for i in range(len(word)):
        for ch in ascii_lowercase:
            other = word[:i] + ch + word[i + 1 :]
            if other != word and other in WORDS:
                yield other


def ladder(start, end):
    parents, queue = {start: None}, deque([start])
    while queue:
        word = queue.popleft()
        if word == end:
            path = []
            while word:
                path.append(word)
                word = parents[word]
            return path[::-1]
        for other in sorted(neighbours(word)):
            if other not in parents:
                parents[other] = word
                queue.append(other)
    return None


print(ladder("hit", "cog"), ladder("hit", "zzz"))
