import string
import textwrap
from string import Template, ascii_letters, digits, punctuation

text = "The quick brown fox jumps over the lazy dog. It was not amused, said the fox; the dog agreed."
print(textwrap.fill(text, 30), textwrap.shorten(text, 40, placeholder="…"), textwrap.wrap(text, 25, initial_indent="* ", subsequent_indent="  "), sep="\n")
print(textwrap.indent("a\n\nb", "> "), textwrap.dedent("  x\n    y"), textwrap.TextWrapper(width=10).wrap("aaa bbb ccc"))
print(Template("Dear $name, you owe ${amount} $$").substitute(name="Bo", amount=5), Template("$a $b").safe_substitute(a=1), Template("$x-$y").substitute({"x": 1}, y=2))
for bad in ("$", "$missing"):
    try:
        Template(bad).substitute({})
    except (KeyError, ValueError) as error:
        print(type(error).__name__, error)
print(string.capwords("hello wide world"), ascii_letters[:5], digits, len(punctuation), string.hexdigits, repr(string.whitespace), "".join(ch for ch in "a1!b" if ch in ascii_letters))


class AtTemplate(Template):
    delimiter = "@"


print(AtTemplate("hi @who").substitute(who="you"))
