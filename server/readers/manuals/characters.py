r"""Special characters of roff: what ``\(em``, ``\[u2014]`` and ``\[e aa]`` print."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from winnow.server.text.forms.normal_forms import normalize

# Each name is followed by its printed text. Hyphens, minus signs and straight quotation marks are those of ASCII,
# as on terminals, so that options and commands can be copied.
_NAMES = r"""
    hy - mi - - - ha ^ ti ~ rs \ ga ` aq ' dq " oq ‘ cq ’ lq “ rq ” Bq „ bq ‚ Fo « Fc » fo ‹ fc › em — en – bu •
    ci ○ sq □ sh # Do $ at @ ba | br │ bb ¦ or | sl / ul _ ru _ rn ‾ lB [ rB ] lC { rC } la ⟨ ra ⟩ co © rg ®
    tm ™ de ° ct ¢ eu € Eu € Ye ¥ Po £ Cs ¤ sc § ps ¶ dg † dd ‡ fm ′ sd ″ r! ¡ r? ¿ lh ☜ rh ☞ OK ✓ 12 ½ 14 ¼
    34 ¾ 18 ⅛ 38 ⅜ 58 ⅝ 78 ⅞ S1 ¹ S2 ² S3 ³ Of ª Om º pl + mu × di ÷ +- ± -+ ∓ ** ∗ eq = == ≡ != ≠ ~~ ≈ ap ∼
    ~= ≅ =~ ≅ |= ≃ <= ≤ >= ≥ << ≪ >> ≫ pt ∝ sr √ sqrt √ if ∞ no ¬ is ∫ pd ∂ gr ∇ su ∑ sum ∑ product ∏
    coproduct ∐ integral ∫ pc · md ⋅ c* ⊗ c+ ⊕ /_ ∠ pp ⊥ es ∅ mo ∈ st ∋ nm ∉ sb ⊂ sp ⊃ ib ⊆ ip ⊇ nb ⊄ nc ⊅ ca ∩
    cu ∪ fa ∀ te ∃ nex ∄ AN ∧ OR ∨ 3d ∴ tf ∴ Im ℑ Re ℜ wp ℘ Ah ℵ -h ℏ hbar ℏ -> → <- ← ua ↑ da ↓ <> ↔ va ↕ rA ⇒
    lA ⇐ uA ⇑ dA ⇓ hA ⇔ vA ⇕ CR ↵ an ─ f/ ⁄ %0 ‰ HE ♥ SP ♠ CL ♣ DI ♦ lz ◊ lf ⌊ rf ⌋ lc ⌈ rc ⌉ bv │ lt ⎧ lk ⎨
    lb ⎩ rt ⎫ rk ⎬ rb ⎭ *A Α *B Β *G Γ *D Δ *E Ε *Z Ζ *Y Η *H Θ *I Ι *K Κ *L Λ *M Μ *N Ν *C Ξ *O Ο *P Π *R Ρ
    *S Σ *T Τ *U Υ *F Φ *X Χ *Q Ψ *W Ω *a α *b β *g γ *d δ *e ε *z ζ *y η *h θ *i ι *k κ *l λ *m μ *n ν *c ξ
    *o ο *p π *r ρ *s σ ts ς *t τ *u υ *f ϕ +f φ *x χ *q ψ *w ω +h ϑ +p ϖ +e ϵ mc µ ss ß AE Æ ae æ OE Œ oe œ
    IJ Ĳ ij ĳ -D Ð Sd ð TP Þ Tp þ /L Ł /l ł /O Ø /o ø .i ı .j ȷ oA Å oa å ff ff fi fi fl fl Fi ffi Fl ffl aa ´
    ac ¸ ad ¨ ah ˇ ao ˚ a- ¯ a. ˙ a^ ^ a~ ~ ab ˘ ho ˛ a" ˝ vS š vs š vZ ž vz ž
"""
_SPACES = {
    "hy-": "",
    "_": "_",
    "nbsp": " ",
    "|": "",
    "^": "",
    "&": "",
    "%": "",
    "/": "",
    ",": "",
    ":": "",
    "0": " ",
}
_WORDS = _NAMES.split()
_CHARACTERS: Mapping[str, str] = MappingProxyType(
    _SPACES | dict(zip(_WORDS[::2], _WORDS[1::2], strict=True)) | {"vS": "Š", "vZ": "Ž"}
)
# Signs before a letter, as in \['e], and after it, as in \[e aa]: the mark that combines with it.
_ACCENTS = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", ":": "\u0308", ",": "\u0327", "o": "\u030a",
    "aa": "\u0301", "ga": "\u0300", "a^": "\u0302", "a~": "\u0303", "ad": "\u0308", "ac": "\u0327", "ao": "\u030a",
    "ah": "\u030c", "ab": "\u0306", "a-": "\u0304", "a.": "\u0307", "ho": "\u0328", 'a"': "\u030b", "v": "\u030c",
}  # fmt: skip
_UNICODE = re.compile(r"u(?P<first>[0-9A-Fa-f]{4,6})(?P<others>(?:_[0-9A-Fa-f]{4,6}){0,4})")
_NUMBER = re.compile(r"char(\d{1,3})")
_LAST_CODE_POINT = 0x10FFFF


def character(name: str) -> str:
    r"""The printed text of a special character; "" for an unknown one.

    >>> character("em"), character("u00E9"), character("'e"), character("e aa")
    ('—', 'é', 'é', 'é')
    """
    if (known := _CHARACTERS.get(name)) is not None:
        return known
    if found := _UNICODE.fullmatch(name):
        codes = [found["first"], *found["others"].split("_")[1:]]
        return normalize("NFC", "".join(_printed(int(code, 16)) for code in codes))
    if found := _NUMBER.fullmatch(name):
        return _printed(int(found[1]))
    if len(name) == 2 and name[0] in _ACCENTS and name[1].isalpha():
        return _combine(name[1], name[0])
    base, _, accent = name.partition(" ")
    return _combine(base, accent) if len(base) == 1 and accent in _ACCENTS else ""


def _combine(base: str, accent: str) -> str:
    return normalize("NFC", base + _ACCENTS[accent])


def _printed(code: int) -> str:
    """The character of a code point; "" for a control character or an invalid code point."""
    if code > _LAST_CODE_POINT or 0xD800 <= code <= 0xDFFF:
        return ""
    return chr(code) if chr(code).isprintable() else ""
