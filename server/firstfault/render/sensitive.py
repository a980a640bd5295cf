"""Finds what must not leave the house in a text: hosts, addresses, users, folders, e-mail, keys. Knows no mask and no report.

It prefers hiding too much to letting something through, and keeps what a diagnosis needs: rank and line numbers, process ids, loopback
addresses, module names and file names.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .folders import ACCOUNTS, ORDINARY, Span, homes, paths, users_told

KINDS = ("host", "ip", "user", "dir", "email", "token", "uuid", "hex", "mac")


@dataclass
class Known:
    """Names that some text gave away and that are hidden wherever they stand: lower-case names by their first word."""

    hosts: dict[str, set[str]] = field(default_factory=dict)
    users: dict[str, set[str]] = field(default_factory=dict)
    short: dict[str, str] = field(default_factory=dict)
    """The full lower-case name of a host by its first label."""

    def add_host(self, name: str, *, told: bool = True) -> None:
        """A host name; its first label is the same host, and an address is none.

        `told` is false where only the form of the name tells that it is one: then a first label that may be any word stays a word.
        """
        lower = name.lower().strip(".")
        if not lower or lower in _LOCAL or _is_address(lower) or not _WORD.search(lower) or _PUBLIC.fullmatch(lower):
            return
        names = {lower}
        label = lower.split(".")[0]
        if label != lower and (told or not label.isalpha()):
            self.short[label] = min(lower, self.short.get(label, lower))
            names.add(label)
        for known in names:
            if _tells_a_host(known):
                self.hosts.setdefault(_first_word(known), set()).add(known)

    def add_user(self, name: str) -> None:
        """A user name; accounts of the system and of containers are nobody's."""
        lower = name.lower()
        if lower not in ACCOUNTS and lower not in ORDINARY and len(lower) > 1 and not lower.isdigit() and _WORD.search(lower):
            self.users.setdefault(_first_word(lower), set()).add(lower)

    def host_key(self, name: str) -> str:
        """What names of one host have in common."""
        lower = name.lower().strip(".")
        return self.short.get(lower, lower)


def learn(texts: Iterable[str], hosts: Iterable[str] = ()) -> Known:
    """The hosts and users that the texts tell, besides the given `hosts`."""
    known = Known()
    for host in hosts:
        known.add_host(host)
    for text in dict.fromkeys(texts):
        for name, told in _hosts_told(text):
            known.add_host(name, told=told)
        for start, end in users_told(text):
            known.add_user(text[start:end])
        for m in _AT_HOST.finditer(text) if "@" in text else ():
            known.add_user(m["user"])
    return known


def find_spans(text: str, known: Known) -> list[Span]:
    """What is sensitive in a text, in order, without overlaps. Where two readings overlap the more telling one wins."""
    taken: list[Span] = []
    for one in (_keys(text), _mail(text, known), _numbers(text), homes(text), _names(text, known), _fqdns(text, known), paths(text)):
        for span in one:
            if span.end > span.start and all(span.end <= t.start or span.start >= t.end for t in taken):
                taken.append(span)
    return sorted(taken, key=lambda s: s.start)


# Keys and passwords ------------------------------------------------------------------------------------------------------------------

# export HF_TOKEN=hf_AbC…   remote: https://oauth2:glpat-AbC…@git.example.com   Authorization: Bearer eyJhbGci….eyJzdWIi….c2ln
_KEY = re.compile(
    r"""(?<![A-Za-z0-9])(?:
      hf_[A-Za-z0-9]{12,} | api_org_[A-Za-z0-9]{12,}
    | (?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}
    | gh[pousr]_[A-Za-z0-9]{16,} | github_pat_\w{16,} | gl(?:pat|dt|rt|soat|cbt|ptt|ft|imt|agent|oas)-[\w-]{16,}
    | sk-(?=[\w-]*[0-9])[\w-]{16,} | [rp]k_(?:live|test)_\w{8,} | xox[a-z]-[\w-]{8,}
    | AIza[\w-]{30,} | ya29\.[\w-]{8,} | nvapi-[\w-]{12,} | wandb_v[0-9]+_\w{12,}
    | npm_[A-Za-z0-9]{16,} | pypi-[\w-]{16,} | dckr_pat_[\w-]{8,} | dop_v1_\w{16,}
    | eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?
    )""",
    re.VERBOSE,
)
# aws_secret_access_key = wJalr…   "password": "hunter2"   WANDB_API_KEY=0123…
_NAMED_KEY = re.compile(
    r"""(?ix)(?<![a-z]) [\w-]* (?P<name> password | passwd | passphrase | secret | api[_-]?key | access[_-]?key | account[_-]?key
      | private[_-]?key | signature | credential | (?<![a-z])token ) (?: [_-]?(?:key|id))? ["']? \s* [:=] \s* ["']?
      (?P<value>[^\s"',;&<>{}$()\[\]]+)"""
)
_BEARER = re.compile(r"(?i)\b(?:bearer|basic)\s+(?P<value>[\w.~+/=-]{12,})")
_URL_USER = re.compile(r"://(?P<value>[^\s/@'\"]+)@")
# https://bucket.example.com/x?X-Amz-Signature=…
_QUERY = re.compile(r"(?i)://[^\s?'\"<>]+\?(?P<value>(?=\S*(?:sig|token|key|cred|auth|pass))[^\s'\"<>)\]]+)")
_NO_SECRET = {"none", "null", "true", "false", "set", "unset", "missing", "required", "invalid", "expired"}


def _keys(text: str) -> Iterator[Span]:
    for m in _KEY.finditer(text):
        yield Span(m.start(), m.end(), "token", m[0])
    for pattern in (_URL_USER, _QUERY) if "://" in text else ():
        for m in pattern.finditer(text):
            yield Span(*m.span("value"), "token", m["value"])
    for m in _BEARER.finditer(text):
        yield Span(*m.span("value"), "token", m["value"])
    for m in _NAMED_KEY.finditer(text):
        value = m["value"]
        # A tokenizer's `pad_token: 0` is no secret; a password of any length is.
        if m["name"].lower() == "token" and (len(value) < 12 or not re.search(r"\d", value)):
            continue
        if value.lower() not in _NO_SECRET:
            yield Span(*m.span("value"), "token", value)


# E-mail addresses and user@host -----------------------------------------------------------------------------------------------------

_MAIL = re.compile(r"(?<![\w.%+-])[\w.%+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}(?![\w-])")
# ssh alice@login2
_AT_HOST = re.compile(r"(?<![\w.%+-])(?P<user>[^\W\d][\w.-]+)@(?P<host>(?!v\d|sha\d)[^\W\d_][\w-]{2,}(?:\.[\w-]+)*)(?![\w-])")


def _mail(text: str, known: Known) -> Iterator[Span]:
    if "@" not in text:
        return
    for m in _MAIL.finditer(text):
        yield Span(m.start(), m.end(), "email", m[0].lower())
    for m in _AT_HOST.finditer(text):
        if m["user"].lower() not in ACCOUNTS:
            yield Span(*m.span("user"), "user", m["user"].lower())
        if m["host"].lower() not in _LOCAL:
            yield Span(*m.span("host"), "host", known.host_key(m["host"]))


# Addresses and identifiers ----------------------------------------------------------------------------------------------------------

_UUID = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![0-9a-fA-F])")
_HEX = re.compile(r"(?<![A-Za-z0-9])(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{32,}(?![A-Za-z0-9])")
_MAC = re.compile(r"(?<![\w:])[0-9A-Fa-f]{2}(?P<sep>[:-])(?:[0-9A-Fa-f]{2}(?P=sep)){4}[0-9A-Fa-f]{2}(?![\w:])")
# NET/Socket : Using eth0:fe80::9a03:9bff:fe2c:11d0%eth0<0>
_COLONS = re.compile(r"[\w.]*(?::[\w.]*){2,}(?:%[\w.-]*\w)?")
_IN_USE = tuple(ipaddress.IPv6Network(n) for n in ("2000::/3", "fc00::/7", "fe80::/10", "ff00::/8", "64:ff9b::/96"))
_IPV4 = re.compile(r"(?<![\d.vV])(?:(?:25[0-5]|2[0-4]\d|[01]?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|[01]?\d?\d)(?!\d|\.\d)")


def _numbers(text: str) -> Iterator[Span]:
    for m in _UUID.finditer(text):
        yield Span(m.start(), m.end(), "uuid", m[0].lower())
    for m in _HEX.finditer(text):
        yield Span(m.start(), m.end(), "hex", m[0].lower())
    for m in _MAC.finditer(text):
        yield Span(m.start(), m.end(), "mac", m[0].lower().replace("-", ":"))
    for m in _COLONS.finditer(text):
        yield from _ipv6(m[0], m.start())
    for m in _IPV4.finditer(text):
        octets = [int(o) for o in m[0].split(".")]
        if octets[0] != 127 and any(octets):
            yield Span(m.start(), m.end(), "ip", ".".join(map(str, octets)))


def _ipv6(run: str, at: int) -> Iterator[Span]:
    """The longest IPv6 address between the colons of a run such as `eth0:fe80::1%eth0`."""
    scope = run.find("%") if "%" in run else len(run)
    cuts = [0, *(i + 1 for i, c in enumerate(run[:scope]) if c == ":")]
    ends = [*(i for i, c in enumerate(run[:scope]) if c == ":"), scope]
    for length in range(min(len(cuts), 9), 2, -1):
        for first in range(len(cuts) - length + 1):
            start, end = cuts[first], ends[first + length - 1]
            stop = start + len(run[start:end].rstrip("."))
            try:
                address = ipaddress.IPv6Address(run[start:stop])
            except ValueError:
                continue
            inner = address.ipv4_mapped or address
            # Nobody has an address outside of these; a C++ name such as `c10::` looks like one.
            used = address.ipv4_mapped or any(address in network for network in _IN_USE)
            if used and not inner.is_loopback and not inner.is_unspecified:
                yield Span(at + start, at + (len(run) if end == scope < len(run) else stop), "ip", str(inner))
            return


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


# Hosts -------------------------------------------------------------------------------------------------------------------------------

_LOCAL = {"localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "none", "null", "unknown", "any"}
_WORD = re.compile(r"[^\W_]+")
_HOSTS = tuple(
    re.compile(p)
    for p in (
        # node01:4121:4377 [3] NCCL INFO …
        r"(?<![\w.-])(?P<host>[^\W_][\w.-]*):\d+:\d+ \[\d+\]",
        # torchelastic's summary:   host      : node01.cluster
        r"(?m)^\s*host\s+: (?P<host>[\w.-]+)",
        # MASTER_ADDR=head01   hostname: "node07"   nodename=…
        r"(?i)\b(?:master_addr|host_?name|node_?name|rdzv[_-]endpoint|SLURMD_NODENAME|head_?node)\b[\"']?\s*[=:]\s*[\"']?(?P<host>[^\W_][\w.-]*)",
        r"(?i)\b(?:host|node|server|endpoint|master|peer)[\"']?\s*[=:]\s*[\"']?(?P<host>[^\W\d_][\w.-]*?(?:\d|[.-]\w)[\w.-]*)",
        # srun: error: node07: task 3: Killed      slurmstepd: error: *** STEP 81.0 ON node07 CANCELLED AT …
        r"srun: error: (?P<host>[\w.-]+): ",
        r" ON (?P<host>[\w.-]+) CANCELLED",
        # … on host node07, on node node07
        r"(?i)\b(?:on|from|at|of|to) (?:host|node|machine|server) [\"'`]?(?P<host>[^\W\d_][\w.-]*[\d.-][\w.-]*\w)",
        # The client socket … (node77, 36285), connect to [node77]:36285
        r"(?i)(?:connect|socket|address|listen|store|endpoint|rendezvous|remote|peer).{0,80}?"
        r"[\[(](?P<host>[^\W\d_][\w.-]*)(?:\]:|, ?)\d{2,5}(?![\d-])",
        # Names that are host names by their shape.
        r"(?<![\w.@-])(?P<host>ip-\d+-\d+-\d+-\d+(?:\.[\w.-]*\w)?)(?![\w-])",
        r"(?i)(?<![\w@])(?P<host>(?:[a-z]+[a-z0-9]*[-.])?(?:(?:node|dgx|hgx|nid|login|gpunode|cnode)[-_]?|compute-)\d{1,6}(?:-\d+)?)(?![A-Za-z0-9])",
        r"(?i)(?<![\w.@-])(?P<host>[a-z][a-z0-9-]*-(?:worker|master|launcher)-\d+)(?![\w-])",
    )
)
_NO_HOST = re.compile(
    r"(?i)master_port|(?:rank|default|gpu|cuda|local|trainer|worker|node|host|master|server|process|task|group)[_-]?\d?"
    r"|.*\.(?:py|cpp|cc|cu|h|log|out|json)"
)
_TLD = (
    "internal|local|lan|localdomain|corp|intra|intranet|hpc|cluster|svc|com|net|org|edu|gov|mil|io|ai|dev|cloud|tech|"
    "de|fr|uk|ch|at|nl|be|se|no|fi|dk|it|es|pl|cz|eu|us|ca|au|nz|jp|cn|kr|sg|tw|il|br|ru|za"
)
_FQDN = re.compile(rf"(?i)(?<![\w.@-])(?P<host>(?:[a-z0-9](?:[\w-]*[a-z0-9])?\.)+(?:{_TLD}))(?![\w(-]|\.\w)")
_URL_HOST = re.compile(
    r"(?i)(?:https?|s?ftp|ssh|git|wss?|tcp|udp|grpc|redis|nfs|s3|gs|hdfs|ldaps?)://(?:[^\s/@'\"]+@)?(?P<host>[^\W_][\w.-]*)"
)
# Where everybody's documentation, code and packages are; the names tell nothing of who asks.
_PUBLIC = re.compile(
    r"(?i)(?:.*\.)?(?:github\.com|githubusercontent\.com|pytorch\.org|nvidia\.com|huggingface\.co|hf\.co|python\.org|pypi\.org|readthedocs\.io|"
    r"kernel\.org|pypa\.io|jax\.dev|numpy\.org|tensorflow\.org|openxla\.org|triton-lang\.org|sglang\.io|pydantic\.dev|hydra\.cc|apache\.org|"
    r"man7\.org|gnu\.org|freedesktop\.org|openbsd\.org|open-mpi\.org|lustre\.org|hdfgroup\.org|docker\.com|k8s\.io|aws\.amazon\.com|"
    r"hiascend\.com|ibm\.com|git-lfs(?:\.com|\.github\.com)?|nvidia\.github\.io|schedmd\.com|kubernetes\.io|ray\.io|vllm\.ai|wandb\.ai|deepspeed\.ai|lightning\.ai|google\.com|amd\.com|docker\.io)"
)
# wandb: View run at https://wandb.ai/alice/secret/runs/3kq9
_OWNER = re.compile(r"(?i)(?<![\w.-])(?:(?:api|www)\.)?wandb\.ai/(?!docs\b|site\b|authorize\b)(?P<user>[\w.-]+)(?P<rest>(?:/[\w.-]+)*)")
_MODULES = {
    "torch", "torchvision", "self", "cls", "model", "module", "nn", "np", "numpy", "os", "sys", "threading", "ray", "jax", "accelerate",
    "transformers", "deepspeed", "megatron", "lightning", "vllm", "werkzeug", "asyncio", "multiprocessing", "dist", "net", "config", "cfg",
}  # fmt: skip


def _hosts_told(text: str) -> Iterator[tuple[str, bool]]:
    """Host names, and whether the text says that they are some."""
    for pattern in _HOSTS:
        for m in pattern.finditer(text):
            name = m["host"].rstrip(".-_")
            if not _NO_HOST.fullmatch(name) or re.search(r"(?i)node[_-]?\d", name):
                yield name, True
    for pattern in (_URL_HOST, _FQDN):
        for m in pattern.finditer(text) if "." in text or "://" in text else ():
            if pattern is _URL_HOST or _is_fqdn(m["host"]):
                yield m["host"], False
    for m in _AT_HOST.finditer(text) if "@" in text else ():
        yield m["host"], True


def _is_fqdn(name: str) -> bool:
    labels = name.lower().split(".")
    if _PUBLIC.fullmatch(name) or labels[0] in _MODULES:
        return False
    return len(labels) > 2 or bool(re.search(r"\d", labels[0]))


def _tells_a_host(name: str) -> bool:
    """Whether a word is a host name wherever it stands, and not a number or a word of every log."""
    return len(name) > 2 and not name.isdigit() and name not in ORDINARY and name not in _LOCAL and not re.fullmatch(r"rank\d*", name)


def _first_word(name: str) -> str:
    found = _WORD.search(name)
    return found[0] if found else ""


def _names(text: str, known: Known) -> Iterator[Span]:
    """Known hosts and users as whole words: nothing of letters or digits before and behind them."""
    for word in _WORD.finditer(text):
        first = word[0].lower()
        for kind, names in (("host", known.hosts.get(first)), ("user", known.users.get(first))):
            for name in sorted(names or (), key=lambda n: (-len(n), n)):
                start = word.start() - (len(name) - len(name.lstrip("_.-")))
                end = start + len(name)
                if start >= 0 and text[start:end].lower() == name and not (end < len(text) and text[end].isalnum()):
                    yield Span(start, end, kind, known.host_key(name) if kind == "host" else name)


def _fqdns(text: str, known: Known) -> Iterator[Span]:
    for m in _URL_HOST.finditer(text):
        name = m["host"].rstrip(".-_")
        if not _PUBLIC.fullmatch(name) and name.lower() not in _LOCAL and not _is_address(name):
            yield Span(m.start("host"), m.start("host") + len(name), "host", known.host_key(name))
    for m in _OWNER.finditer(text):
        yield Span(*m.span("user"), "user", m["user"].lower())
        for part in re.finditer(r"[\w.-]+", m["rest"]):
            yield Span(m.start("rest") + part.start(), m.start("rest") + part.end(), "dir", part[0].lower())
    for m in _FQDN.finditer(text):
        if _is_fqdn(m["host"]):
            yield Span(*m.span("host"), "host", known.host_key(m["host"]))
