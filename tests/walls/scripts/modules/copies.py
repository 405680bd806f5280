import copy, collections, datetime, decimal, fractions, random, io, types, functools, enum, uuid
from dataclasses import dataclass, field, asdict, astuple, replace, fields, is_dataclass
from typing import NamedTuple, TypedDict
from collections import *
class Node:
    def __init__(self): self.kids=[]; self.up=None
n=Node(); k=Node(); k.up=n; n.kids.append(k)
m=copy.deepcopy(n); assert m.kids[0].up is m and m is not n and m.kids[0] is not k
t=([],); t[0].append(t); u=copy.deepcopy(t); assert u[0][0] is u
for x in ({"a":[1,{2}]}, OrderedDict(a=[1]), defaultdict(list, {"x":[1]}), Counter("aab"), deque([1,[2]],5), ChainMap({"a":[1]}), UserDict({"a":[1]}), UserList([1,[2]]), UserString("x"),
          bytearray(b"abc"), {1,(2,3)}, frozenset([1]), (1,[2]), datetime.datetime(2024,1,1), decimal.Decimal("1.5"), fractions.Fraction(1,3), types.SimpleNamespace(a=[1]), uuid.UUID(int=1), None, range(3)):
    y=copy.deepcopy(x); z=copy.copy(x); assert y==x and z==x and type(y) is type(x) and type(z) is type(x), x
d=copy.deepcopy(defaultdict(list)); d["q"].append(1); assert copy.deepcopy(deque([1],5)).maxlen==5
class L(list):
    pass
l=L([1,[2]]); l.name="x"; l2=copy.deepcopy(l); assert l2==l and l2.name=="x" and l2[1] is not l[1] and type(l2) is L
class D(dict):
    def __init__(self,*a,**k): super().__init__(*a,**k); self.log=[]
d=D(a=[1]); d2=copy.deepcopy(d); assert d2==d and d2.log==[] and d2["a"] is not d["a"]
class S(str): pass
s=S("abc"); s.tag=[1]; s2=copy.deepcopy(s); assert s2=="abc" and s2.tag==[1] and type(s2) is S
class T(tuple): pass
assert copy.deepcopy(T([1,2]))==(1,2)
class P(NamedTuple):
    x:int; y:list=[]
p=P(1,[2]); p2=copy.deepcopy(p); assert p2==p and type(p2) is P and p2.y is not p.y; assert copy.copy(p)==p
@dataclass
class A:
    x:int; y:list=field(default_factory=list)
@dataclass(frozen=True, slots=True)
class B:
    a:A; z:tuple=()
b=B(A(1,[2])); b2=copy.deepcopy(b); assert b2==b and b2.a is not b.a and b2.a.y is not b.a.y; assert copy.copy(b)==b
assert asdict(b)=={"a":{"x":1,"y":[2]},"z":()}, asdict(b); assert astuple(b)==((1,[2]),()); assert replace(b,z=(1,)).z==(1,)
assert [f.name for f in fields(B)]==["a","z"] and is_dataclass(B) and is_dataclass(b) and not is_dataclass(3)
class E(Exception):
    def __init__(self,m,code=3): super().__init__(m); self.code=code
e=E("x",5); e2=copy.copy(e); assert e2.code==5 and e2.args==("x",)
try: {}["x"]
except KeyError as err: assert copy.deepcopy(err).args==("x",)
class C(enum.Enum):
    R=1
assert copy.deepcopy({"c":C.R})["c"] is C.R
class Slots:
    __slots__=("a","b","__weakref__")
o=Slots(); o.a=[1]; o2=copy.deepcopy(o); assert o2.a==[1] and o2.a is not o.a and not hasattr(o2,"b")
class Single:
    one=None
    def __new__(cls):
        if cls.one is None: cls.one=super().__new__(cls)
        return cls.one
assert copy.copy(Single()) is Single()
class Custom:
    def __init__(self,v): self.v=v; self.me=self.hello
    def hello(self): return self.v
    def __deepcopy__(self, memo):
        cls=self.__class__; r=cls.__new__(cls); memo[id(self)]=r
        for k,v in self.__dict__.items(): setattr(r,k,copy.deepcopy(v,memo))
        return r
c=Custom([1]); c.self=c; c2=copy.deepcopy(c); assert c2.self is c2 and c2.v==[1] and c2.me.__name__=="hello"
class M:
    def __init__(self): self.f=self.g
    def g(self): return self
m=M(); m2=copy.deepcopy(m); assert m2.f() is m2
r=random.Random(3); r2=copy.deepcopy(r); assert r.random()==r2.random()
f=functools.partial(max,[3]); assert copy.deepcopy(f)()==3
assert copy.copy(io.StringIO("abc")).read()=="abc"
class Low(UserDict): pass
q=Low(a=[1]); assert copy.deepcopy(q)=={"a":[1]} and q.copy()==q and type(q.copy()) is Low
class O(OrderedDict): pass
assert copy.deepcopy(O(a=1,b=2))==O(a=1,b=2) and type(copy.copy(O(a=1))) is O
class Date(datetime.date): pass
assert copy.copy(Date(2020,1,2))==datetime.date(2020,1,2)
class Dec(decimal.Decimal): pass
assert copy.deepcopy(Dec("1.5"))==decimal.Decimal("1.5")
N=NamedTuple("N",[("a",int),("b",str)]); assert N(1,"x").a==1
TD=TypedDict("TD",{"a":int}); assert TD(a=1)=={"a":1}
@dataclass(order=True)
class V:
    n:int
print(asdict(b), astuple(b), replace(b, z=(1,)), m2.f() is m2, c2.v, q.copy(), p2, o2.a, u[0][0] is u)
