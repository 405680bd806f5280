"""The allow-list: which modules and names a script may import, and hints for those that it may not. Tables only.

Each name was reviewed: it takes no attribute names and no source text from its caller, returns no module, opens
nothing, and keeps nothing from one script to the next. Those of the SDK are its public names. facades.py builds
the modules from this table.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

from winnow import client_sdk
from winnow.client_sdk import graph_calls, kb_calls

# Classes of the SDK that scripts cannot name; they have an object of each.
_WITHHELD_CLASSES = frozenset({"ClaimNotebook", "KnowledgeBase", "KnowledgeGraph"})
_SDK = " ".join(sorted({*client_sdk.__all__} - _WITHHELD_CLASSES))

TABLE = {
    "winnow": _SDK,
    "client_sdk": _SDK,
    "__future__": "annotations division absolute_import generator_stop print_function unicode_literals",
    "abc": "ABC ABCMeta abstractmethod abstractproperty",
    "ast": "literal_eval",
    "asyncio": "gather run sleep create_task ensure_future wait_for wait as_completed to_thread timeout shield "
    "Semaphore BoundedSemaphore Lock Event Queue Task TaskGroup Future CancelledError TimeoutError QueueEmpty "
    "QueueFull LifoQueue PriorityQueue Condition iscoroutine iscoroutinefunction isfuture current_task all_tasks "
    "InvalidStateError get_event_loop get_running_loop new_event_loop set_event_loop FIRST_COMPLETED "
    "FIRST_EXCEPTION ALL_COMPLETED",
    "base64": "b64encode b64decode urlsafe_b64encode urlsafe_b64decode standard_b64encode standard_b64decode "
    "b32encode b32decode b16encode b16decode a85encode a85decode b85encode b85decode",
    "binascii": "hexlify unhexlify crc32 Error",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "calendar": "monthrange isleap leapdays weekday month_name month_abbr day_name day_abbr monthcalendar "
    "timegm month calendar TextCalendar Calendar MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY",
    "cmath": "sqrt exp log polar rect phase pi e tau isclose isfinite isinf isnan cos sin tan",
    "collections": "Counter OrderedDict defaultdict deque namedtuple ChainMap UserDict UserList UserString abc",
    "collections.abc": "Awaitable Callable Collection Container Coroutine AsyncIterable AsyncIterator "
    "Generator Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping "
    "MutableSequence MutableSet Reversible Sequence Set Sized ValuesView",
    "contextlib": "contextmanager asynccontextmanager closing suppress nullcontext ExitStack AsyncExitStack "
    "ContextDecorator AbstractContextManager AbstractAsyncContextManager redirect_stdout redirect_stderr",
    "copy": "copy deepcopy",
    "csv": "reader writer DictReader DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC Error "
    "excel excel_tab Sniffer Dialect",
    "dataclasses": "dataclass field fields asdict astuple replace is_dataclass InitVar KW_ONLY MISSING "
    "FrozenInstanceError",
    "datetime": "date datetime time timedelta timezone tzinfo UTC MINYEAR MAXYEAR",
    "decimal": "Decimal ROUND_HALF_UP ROUND_HALF_EVEN ROUND_HALF_DOWN ROUND_UP ROUND_DOWN ROUND_CEILING "
    "ROUND_FLOOR ROUND_05UP InvalidOperation DivisionByZero DecimalException Inexact Overflow Underflow",
    "difflib": "SequenceMatcher get_close_matches unified_diff context_diff ndiff Differ restore",
    "enum": "Enum IntEnum StrEnum Flag IntFlag auto unique",
    "fractions": "Fraction",
    "functools": "reduce partial lru_cache cache cached_property cmp_to_key total_ordering wraps singledispatch",
    "hashlib": "md5 sha1 sha224 sha256 sha384 sha512 sha3_256 sha3_512 blake2b blake2s new",
    "heapq": "heappush heappop heapify heappushpop heapreplace nlargest nsmallest merge",
    "html": "escape unescape",
    "html.parser": "HTMLParser",
    "io": "StringIO BytesIO",
    "itertools": "accumulate batched chain combinations combinations_with_replacement compress count cycle "
    "dropwhile filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee "
    "zip_longest",
    "json": "dumps loads dump load JSONDecodeError JSONEncoder JSONDecoder",
    "keyword": "iskeyword kwlist",
    "logging": "debug info warning error critical exception log getLogger basicConfig DEBUG INFO WARNING ERROR "
    "CRITICAL NOTSET disable getLevelName Formatter StreamHandler NullHandler",
    "math": "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc "
    "exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan "
    "isqrt lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin "
    "sinh sqrt sumprod tan tanh tau trunc ulp",
    "numbers": "Number Complex Real Rational Integral",
    "operator": "abs add and_ concat contains countOf delitem eq floordiv ge getitem gt iadd iand iconcat "
    "ifloordiv ilshift imod imul index indexOf inv invert ior ipow irshift is_ is_not isub itemgetter itruediv "
    "ixor le length_hint lshift lt matmul mod mul ne neg not_ or_ pos pow rshift setitem sub truediv truth xor",
    "pprint": "pprint pformat pp",
    "random": "Random betavariate choice choices expovariate gauss getrandbits normalvariate randbytes randint "
    "random randrange sample seed shuffle triangular uniform",
    "re": "compile search match fullmatch split findall finditer sub subn escape purge error Pattern Match A "
    "ASCII I IGNORECASE M MULTILINE S DOTALL X VERBOSE U UNICODE L LOCALE NOFLAG RegexFlag",
    "statistics": "mean fmean geometric_mean harmonic_mean median median_low median_high median_grouped mode "
    "multimode pstdev pvariance stdev variance quantiles covariance correlation linear_regression NormalDist "
    "StatisticsError",
    "string": "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable "
    "whitespace capwords Template",
    "struct": "pack unpack unpack_from iter_unpack calcsize error Struct",
    "sys": "stdout stderr argv exit maxsize maxunicode version version_info float_info int_info byteorder "
    "platform getrecursionlimit setrecursionlimit getsizeof getdefaultencoding intern",
    "textwrap": "dedent fill indent shorten wrap TextWrapper",
    "time": "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time sleep gmtime "
    "localtime strftime strptime mktime ctime asctime struct_time",
    "traceback": "format_exc print_exc format_exception_only format_exception print_exception",
    "types": "SimpleNamespace MappingProxyType NoneType",
    "typing": "Any AnyStr Annotated Awaitable Callable ClassVar Collection Concatenate Container Coroutine "
    "Counter DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable ItemsView Iterable Iterator "
    "KeysView List Literal LiteralString Mapping MappingView Match MutableMapping MutableSequence MutableSet "
    "NamedTuple Never NewType NoReturn NotRequired Optional OrderedDict ParamSpec Pattern Protocol Required "
    "Reversible Self Sequence Set Sized SupportsFloat SupportsIndex SupportsInt TYPE_CHECKING Text Tuple Type "
    "TypeAlias TypeGuard TypeVar TypeVarTuple TypedDict Union Unpack ValuesView cast final "
    "overload override runtime_checkable AsyncIterable AsyncIterator AsyncGenerator assert_never "
    "assert_type get_args get_origin",
    "unicodedata": "bidirectional category combining decimal decomposition digit east_asian_width "
    "is_normalized lookup mirrored name normalize numeric unidata_version",
    "urllib": "parse",
    "urllib.parse": "quote quote_plus unquote unquote_plus urlencode urljoin urlparse urlsplit urlunparse "
    "urlunsplit parse_qs parse_qsl urldefrag",
    "uuid": "UUID uuid3 uuid4 uuid5 NAMESPACE_DNS NAMESPACE_URL NAMESPACE_OID NAMESPACE_X500",
    "warnings": "warn simplefilter filterwarnings resetwarnings catch_warnings",
    "zlib": "crc32 adler32",
    "zoneinfo": "ZoneInfo ZoneInfoNotFoundError available_timezones",
}

SINCE = {"itertools.batched": (3, 12), "math.sumprod": (3, 12), "typing.override": (3, 12)}

# module -> names. The policy refuses other names at compile time, the façades at run time.
ALLOWED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        module: frozenset(
            name for name in offered.split() if sys.version_info >= SINCE.get(f"{module}.{name}", (3,))
        )
        for module, offered in TABLE.items()
    }
)

_NO_FILES = "scripts have no files: read documents with kb.search(...) and fetch(...)"
_NO_NETWORK = "scripts have no network: ask the knowledge base with kb.search(...) and fetch(...)"
_NO_PROCESSES = "scripts run alone: do the work in this script"
_NO_SOURCE = "write the code in the script itself; ast.literal_eval reads literals, json.loads reads JSON"
_NO_INNARDS = "scripts do not reach into the interpreter"
_NO_THREADS = "SDK calls answer at once; asyncio.gather is there for code written that way"
_NO_TABLES = "use lists and dicts, csv, statistics, collections.Counter and itertools"

# Hints for modules that scripts often ask for and cannot import.
WITHHELD_MODULES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("os", "pathlib", "shutil", "glob", "tempfile", "fileinput", "sqlite3", "pickle"), _NO_FILES
        ),
        **dict.fromkeys(("shelve", "zipfile", "tarfile", "gzip", "configparser"), _NO_FILES),
        **dict.fromkeys(
            ("socket", "requests", "httpx", "http", "aiohttp", "urllib3", "ssl", "ftplib"), _NO_NETWORK
        ),
        **dict.fromkeys(("subprocess", "multiprocessing", "signal"), _NO_PROCESSES),
        **dict.fromkeys(("threading", "concurrent", "queue", "sched"), _NO_THREADS),
        **dict.fromkeys(("importlib", "code", "codeop", "runpy", "builtins", "pkgutil"), _NO_SOURCE),
        **dict.fromkeys(("ctypes", "gc", "inspect", "dis", "platform", "resource", "atexit"), _NO_INNARDS),
        **dict.fromkeys(("numpy", "pandas", "polars", "scipy", "sklearn"), _NO_TABLES),
        "secrets": "random and uuid are there",
        "src": "write: from winnow import MCPClient",
        **dict.fromkeys(
            ("winnow", "winnow_sdk", "winnow_client", "winnow_mcp", "sdk", "kb", "knowledge_base", "graph"),
            "write: from winnow import kb, graph, semantic_search; scripts have these names without it, too",
        ),
        "mcp": "the knowledge base is right here: kb.search(...), fetch(...), or MCPClient from winnow",
    }
)

# SDK methods -> the SDK object that has them.
_OF_OBJECTS = {**dict.fromkeys(kb_calls.FUNCTIONS, "kb"), **dict.fromkeys(graph_calls.FUNCTIONS, "graph")}

# Hints for names that are missing in modules that scripts can import.
WITHHELD_MEMBERS: Mapping[str, str] = MappingProxyType(
    {
        "operator.attrgetter": "write key=lambda x: x.name",
        "operator.methodcaller": "write lambda x: x.method()",
        "functools.update_wrapper": "use @functools.wraps(function)",
        "functools.partialmethod": "write a method that calls the other one",
        "functools.singledispatchmethod": "test the argument with isinstance, or match it",
        "string.Formatter": "use f-strings, str.format or string.Template",
        "typing.get_type_hints": "dataclasses.fields(cls) tells the fields of a dataclass",
        "dataclasses.make_dataclass": "write a class statement with @dataclass",
        "decimal.getcontext": "round with value.quantize(Decimal('0.01'))",
        "decimal.localcontext": "round with value.quantize(Decimal('0.01'))",
        "sys.exc_info": "write except Exception as error",
        "sys.stdin": "a script has no input: put the value into the script",
        "sys.modules": _NO_INNARDS,
        "sys.path": "import one of the modules that scripts have; there are no files",
        "asyncio.create_subprocess_exec": _NO_PROCESSES,
        "asyncio.create_subprocess_shell": _NO_PROCESSES,
        "asyncio.open_connection": _NO_NETWORK,
        "io.open": _NO_FILES,
        "traceback.extract_tb": "traceback.format_exc() gives the traceback as text",
        "traceback.print_stack": "print what you want to see",
        "random.SystemRandom": "random.Random() is seeded anew in every run",
        "uuid.getnode": "uuid.uuid4() makes identifiers",
        "logging.FileHandler": _NO_FILES,
        **{
            f"{home}.{name}": f"write {owner}.{name}(...)"
            for home in ("winnow", "client_sdk")
            for name, owner in _OF_OBJECTS.items()
        },
    }
)

# Hints for builtins that scripts do not have.
WITHHELD_BUILTINS: Mapping[str, str] = MappingProxyType(
    {
        "open": _NO_FILES,
        "exec": _NO_SOURCE,
        "eval": _NO_SOURCE,
        "compile": _NO_SOURCE,
        "__import__": "use an import statement",
        "input": "a script has no input: put the value into the script",
        "breakpoint": "print what you want to see",
        "globals": "use a dict of your own",
        "locals": "use a dict of your own",
        "memoryview": "use bytes or bytearray",
    }
)
