from collections import ChainMap, Counter, UserDict, UserList, UserString
from fractions import Fraction
from functools import reduce
from html.parser import HTMLParser
from random import Random
from string import Template
from textwrap import TextWrapper

counts = [Counter("abca"), Counter("bb")]
print(sum(map(Counter.total, counts)), reduce(Counter.__add__, counts), sorted(counts, key=Counter.total))
print([name for name, _ in Counter.most_common(counts[0], 1)], Counter.copy(counts[1]) == counts[1])
print(list(map(UserString.upper, [UserString("a"), UserString("b")])), UserList.copy(UserList([1])), UserDict.get(UserDict(a=1), "a"))
print(ChainMap.new_child(ChainMap({"a": 1}), {"b": 2}), ChainMap({"a": 1}, {"b": 2}).parents, Fraction.limit_denominator(Fraction(22, 7), 3))
print(Template.substitute(Template("$x"), x=1), TextWrapper.fill(TextWrapper(5), "a b c d"), Random.randint(Random(1), 1, 1))

class Titles(HTMLParser):
    def __init__(self):
        HTMLParser.__init__(self)
        self.found = []
    def handle_data(self, data):
        self.found.append(data)
    def feed(self, text):
        HTMLParser.feed(self, text)

class Words(UserList):
    def copy(self):
        return UserList.copy(self)

titles = Titles()
titles.feed("<b>one</b>two")
print(titles.found, Words(["a"]).copy(), type(Words([1]).copy()).__name__)
try:
    Counter.most_common("abc")
except (TypeError, AttributeError) as error:
    print("no counter")
