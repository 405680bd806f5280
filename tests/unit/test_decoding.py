"""Text is decoded in the encoding that it has, states or most likely has, otherwise as browsers do."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.readers.decoding import decode, decode_part
from winnow.server.readers.documents import UnreadableFile

_RUSSIAN = "Резервная копия создаётся каждую ночь и хранится на другом компьютере."
_CZECH = "Záloha se spouští každou noc; příliš žluťoučký kůň úpěl ďábelské ódy mezi větvemi."
_POLISH = "Kopia zapasowa powstaje każdej nocy i jest przechowywana również na drugim nośniku, który wskażesz."
_TURKISH = (
    "Yedekleme işlemi her gece çalışır ve değiştirilmiş dosyaları başka bir makineye taşır; dışarıya bağlanmaz."
)
_GREEK = "Το αντίγραφο ασφαλείας δημιουργείται κάθε βράδυ."
_HEBREW = "הגיבוי נוצר בכל לילה ונשמר במחשב אחר."
_JAPANESE = "バックアップは毎晩作成され、別のコンピュータに保存されます。"
_KOREAN = "백업은 매일 밤 만들어지며 다른 컴퓨터에 보관됩니다."
_CHINESE = "备份每天晚上创建，并保存在另一台计算机上。"
_TAIWANESE = "備份每天晚上建立，並保存在另一台電腦上。"
_GERMAN = "Die Sicherung läuft jede Nacht und wird auf einem zweiten Gerät für später aufbewahrt."
_UNSTATED = [
    (_RUSSIAN, "koi8-r"),
    (_RUSSIAN, "cp1251"),
    (_RUSSIAN, "cp866"),
    (_RUSSIAN, "iso8859-5"),
    (_CZECH, "cp1250"),
    (_CZECH, "iso8859-2"),
    (_POLISH, "cp1250"),
    (_POLISH, "iso8859-2"),
    (_TURKISH, "cp1254"),
    (_GREEK, "cp1253"),
    (_GREEK, "iso8859-7"),
    (_HEBREW, "cp1255"),
    (_JAPANESE, "euc_jp"),
    (_JAPANESE, "cp932"),
    (_JAPANESE, "iso2022_jp"),
    (_KOREAN, "euc_kr"),
    (_CHINESE, "gb18030"),
    (_TAIWANESE, "big5"),
]


@pytest.mark.parametrize(("text", "encoding"), _UNSTATED)
def test_an_encoding_that_nothing_states_is_known_by_its_letters(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(("text", "encoding"), _UNSTATED)
def test_letters_are_found_behind_any_amount_of_ascii(text: str, encoding: str) -> None:
    text = "<p>markup</p>\n" * 100_000 + text
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "text",
    [
        _GERMAN,
        "Ça va très bien, même à l’étranger.",
        "¿Dónde está el archivo? Aquí, señor.",
        "Não há informações sobre a instalação.",
        "het geïnstalleerde systeem",
        "25 °C ± 0.5, 10 µm, 5 × 7, © 2004 Intel®",
        "José, Søren and François met Gödel: « naïve », “smart”, 30° – £5",
        "Señor Muñoz",
        "\\textbf{äöüÄÖÜß} are written as they are, and so is \\emph{éèê}.",
        "Let ¥ be the potential, z = 1, 2, Ç Ç Ç , l and q Ù N; then Ga ³ Ga, Ku»nneth and Z ³ G Ç Ç Ç hold.",
        "é",
    ],
)
def test_western_text_and_signs_stay_in_windows_1252(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


_WESTERN = st.sampled_from("aeinorst     .,éèàüöäßñçøå°±µ§©®«»£²½“”’–")


@given(st.lists(_WESTERN, max_size=40).map("".join))
def test_too_few_letters_prove_no_encoding(text: str) -> None:
    """However its signs fall: a short text without words is read as a browser reads it, or is UTF-8 by chance."""
    data = "-".join(text).encode("cp1252")
    assert decode(data) == data.decode("cp1252")


_STATING = {
    "meta": '<html><head><meta charset="{}"></head><body>{}',
    "meta for HTTP": '<!DOCTYPE html><meta http-equiv="Content-Type" content="text/html; charset={}">{}',
    "XML": "<?xml version='1.0' encoding='{}'?><p>{}</p>",
    "style sheet": '@charset "{}"; /* {} */',
    "Emacs": "# -*- mode: text; coding: {} -*-\n{}",
    "Emacs with line ends": "# -*- coding: {}-unix -*-\n{}",
    "Vim": "#!/bin/sh\n# vim: set fileencoding={} :\n{}",
    "JabRef": "% Encoding: {}\n\n@book{{a, title = {{{}}}}}",
}


@pytest.mark.parametrize("form", _STATING.values(), ids=_STATING)
@pytest.mark.parametrize(
    ("text", "encoding"), [("Ещё", "koi8-r"), ("žluť", "iso-8859-2"), ("夜", "x-sjis"), ("Straße", "latin1")]
)
def test_a_stated_encoding_needs_no_evidence(form: str, text: str, encoding: str) -> None:
    text = form.format(encoding, text)
    assert decode(text.encode(encoding.removeprefix("x-"))) == text


@pytest.mark.parametrize("form", _STATING.values(), ids=_STATING)
@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "koi8-r", "us-ascii", "no-such-encoding", "utf-16"])
def test_valid_utf_8_is_utf_8_whatever_it_states(form: str, encoding: str) -> None:
    text = form.format(encoding, "Straße")
    assert decode(text.encode()) == text


@pytest.mark.parametrize("stated", ["utf-8", "euc-jp", "no-such-encoding", "utf-16", "utf-7"])
def test_a_wrong_statement_is_not_followed(stated: str) -> None:
    """Bytes that the stated encoding does not have are those of another one."""
    for body, encoding in ((_RUSSIAN, "koi8-r"), (_GERMAN, "cp1252")):
        text = f'<meta charset="{stated}"><p>{body}</p>'
        assert decode(text.encode(encoding)) == text


def test_a_program_that_writes_a_statement_states_nothing() -> None:
    text = f"# 設定です。{_JAPANESE}\nprint '<meta http-equiv=x content=\"text/html; charset=Shift_JIS\">'\n"
    assert decode(text.encode("euc_jp")) == text


def test_utf_8_with_a_few_bytes_of_windows_1252_loses_neither() -> None:
    data = _RUSSIAN.encode() + "\n© Müller".encode("cp1252")
    assert decode(data) == f"{_RUSSIAN}\n© Müller"


def test_a_part_is_decoded_as_its_container_states() -> None:
    assert decode_part("Ещё".encode("koi8-r"), "KOI8-R") == "Ещё"
    assert decode_part("夜".encode("iso2022_jp"), "iso-2022-jp") == "夜"
    assert decode_part("Straße".encode("utf-16"), "utf-16") == "Straße"


@pytest.mark.parametrize("stated", ["", "utf-8", "us-ascii", "unknown-8bit", "rot13", "\0", "x" * 100_000])
def test_a_part_whose_container_is_wrong_is_decoded_by_its_letters(stated: str) -> None:
    assert decode_part(_RUSSIAN.encode(), stated) == _RUSSIAN
    assert decode_part(_GERMAN.encode("cp1252"), stated) == _GERMAN


@given(st.binary(max_size=2_000), st.sampled_from(["", "utf-8", "gb18030", "iso2022_jp_ext", "utf-7", "x"]))
def test_any_bytes_are_some_text(data: bytes, stated: str) -> None:
    assert bool(decode_part(data, stated)) == bool(data)


@pytest.mark.parametrize(
    "data",
    ["naïve".encode(), "naïve".encode("utf-8-sig"), "naïve".encode("utf-16"), "naïve".encode("cp1252")],
)
def test_text_is_read_in_the_encoding_it_is_in(data: bytes) -> None:
    assert decode(data) == "naïve"


@pytest.mark.parametrize(
    "text",
    [
        "%PDF-1.7 is how a PDF begins.\n",
        "PK is a name.",
        "GIF89a is a format.",
        "7z, Rar! and BZh9 are archives.",
        "\x1b[31mred\x1b[0m\b\b\f" * 500,
        "a\x01b\x1fc\x1ed\n" * 500,
        "\x01" * 200,
    ],
)
def test_text_about_binary_formats_and_text_with_control_characters_is_read(text: str) -> None:
    assert decode(text.encode()) == text


@pytest.mark.parametrize("text", ["Zürich, Ελλάδα, 東京, \U0001f600\n" * 200, "\ufffd" * 200])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_text_with_a_byte_order_mark_is_read(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


_NOISE = Random(7).randbytes(40_000).replace(b"\0", b"\xfe")


@pytest.mark.parametrize(
    "data", [_NOISE, b"\xef\xbb\xbf" + _NOISE, b"\xff\xfe" + _NOISE, b"\x01\x02" * 5_000, b"%PDF\n" + _NOISE]
)
def test_bytes_of_no_known_format_that_are_no_text_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="binary, not text"):
        decode(data)
