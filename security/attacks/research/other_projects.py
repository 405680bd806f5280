# surface: held
# A research tool that names a project out of reach, in any spelling, answers from it or says whether it is there.
from winnow.security.job_server import call_all
from winnow.security.surface import winnow
from winnow.security.two_projects import SECRET, SERVER, ingest_both
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

NAMES = ("theirs", "Theirs", "theirs ", "mine/../theirs", "./theirs", "theirs/", "%", "*", "mine' OR '1", "mine\x00theirs")
NAMES += ("proj-theirs", "nowhere", "theirs\u200b")


def control():
    # What a server does that takes the project of the call.
    ingest_both()
    return SECRET.encode() in winnow("search", SECRET, "--store", "store", "--project", "theirs").stdout


def surface():
    ingest_both()
    calls = [(tool, {"project": name, "text": "at night"}) for tool in ("query", "query_hybrid") for name in NAMES]
    calls += [("inspect_collection", {"project": name, "sample": 5}) for name in NAMES]
    calls += [("list_projects", {"prefix": prefix}) for prefix in ("", "their", "%", "*", "m")]
    settings = load_settings(**SERVER)
    answers = call_all(open_application(settings, wait_for_model=False), calls)
    listed = [row["id"] for answer in answers[3 * len(NAMES) :] for row in answer["projects"]]
    refused = [answer.get("refused") for answer in answers[: 3 * len(NAMES)]]
    # A project that is there and one that is not are refused in the same words.
    apart = {answers[NAMES.index(name)]["message"].replace(name, "") for name in ("theirs", "nowhere")}
    kinds = {"SCOPE_VIOLATION", "INVALID_REQUEST"}
    return listed != ["mine", "mine"] or not kinds.issuperset(refused) or len(apart) != 1 or SECRET in repr(answers)
