# surface: held
# A confined caller learns which words documents out of its scope have: from missing terms, verdict and confidence.
import json
from pathlib import Path

from winnow.security.surface import ALONE, winnow

RULE = "The proxy forwards requests to the gate."
PAGES = {
    "seen": ("prod", "v1", "Heron"),
    "other environment": ("dev", "v1", "Bittern"),
    "other doc tag": ("prod", "v2", "Egret"),
}
GUESSES = ("Bittern", "Egret", "Stork", "Osprey")  # two that hidden pages of the project have, one of another, none
QUESTIONS = ("Does the proxy listen on {}?", "doc_tag:v2 does the proxy listen on {}", 'path:hidden "{}" proxy')


def control():
    # Words looked up in a list of all words: those that are somewhere are not missing.
    words = {word for _, _, word in PAGES.values()}
    return len({(guess in words) for guess in GUESSES}) > 1


def surface():
    Path("pages").mkdir()
    Path("others").mkdir()
    for name, (environment, tag, word) in PAGES.items():
        front = f"---\nenvironment: {environment}\ndoc_tag: {tag}\n---\n"
        Path("pages", f"{name}.md").write_text(f"{front}# Proxy\n\n{RULE} It listens on {word}.\n", "utf-8")
    Path("others", "stork.md").write_text(f"# Proxy\n\n{RULE} It listens on Stork.\n", "utf-8")
    for project, folder in (("shop", "pages"), ("secret", "others")):
        assert winnow("ingest", folder, "--store", "store", "--project", project).returncode == 0
    assert judge("Does the proxy listen on Heron?") != judge("Does the proxy listen on Osprey?")
    return any(len({judge(question.format(guess), guess) for guess in GUESSES}) > 1 for question in QUESTIONS)


def judge(question, guess=""):
    confined = {**ALONE, "WINNOW_ENVIRONMENT": "prod", "WINNOW_DOC_TAGS": "v1"}
    asked = ("quote", question, "--store", "store", "--project", "shop", "--json")
    answer = json.loads(winnow(*asked, environment=confined).stdout)
    missing = [word == guess or word for word in answer["missing_terms"]]
    return answer["verdict"], answer["confidence"], str(missing)
