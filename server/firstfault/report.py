"""The report as JSON: the one public contract, and its JSON Schema. Knows how data looks outside, not where it comes from."""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from typing import Any

from . import __version__, model

SCHEMA = "firstfault.report/1"
_OPTIONAL = {"command", "setting"}


def to_dict(report: model.Report) -> dict[str, Any]:
    """The report in the order and form of the contract."""
    body = _plain(report)
    return {"schema": SCHEMA, "tool": {"name": "firstfault", "version": __version__}, **body}


def to_json(report: model.Report) -> str:
    """The report as JSON text with a line end."""
    return json.dumps(to_dict(report), indent=1, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        out = {}
        for f in dataclasses.fields(value):
            inner = getattr(value, f.name)
            if inner is None and f.name in _OPTIONAL:
                continue
            out[f.name] = _plain(inner)
        return out
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the report, derived from the data classes."""
    body = _schema_of(model.Report)
    body["properties"] = {
        "schema": {"const": SCHEMA},
        "tool": {
            "type": "object",
            "properties": {"name": {"const": "firstfault"}, "version": {"type": "string"}},
            "required": ["name", "version"],
        },
        **body["properties"],
    }
    body["required"] = ["schema", "tool", *body["required"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "FirstFault report", **body}


def _schema_of(kind: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        fields = dataclasses.fields(kind)
        return {
            "type": "object",
            "properties": {f.name: _schema_of(hints[f.name]) for f in fields},
            "required": [f.name for f in fields if f.name not in _OPTIONAL],
        }
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema_of(a) for a in args]}
    if origin is tuple:
        return {"type": "array", "items": _schema_of(args[0])}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [m.value for m in kind]}
    return {"type": {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}[kind]}
