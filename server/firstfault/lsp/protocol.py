"""Makes the protocol library answer malformed requests, take custom requests as plain data, and stay quiet. Knows no feature."""

from __future__ import annotations

import logging
import sys
from typing import Any

import attrs
from cattrs import Converter
from lsprotocol import converters, types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage, LanguageServerProtocol

logger = logging.getLogger(__name__)

REQUEST_FAILED = -32803
SERVER_CANCELLED = -32802


@attrs.define
class PlainRequest:
    """A request whose parameters the protocol library has no type for."""

    id: int | str
    method: str
    jsonrpc: str
    params: Any = None


@attrs.define
class PlainNotification:
    """A notification whose parameters the protocol library has no type for."""

    method: str
    jsonrpc: str
    params: Any = None


class RequestFailed(JsonRpcException):
    """A request that is well-formed but cannot be answered; the message is shown to the user as it is."""

    CODE = REQUEST_FAILED
    MESSAGE = "Request failed"


class FirstFaultProtocol(LanguageServerProtocol):
    """The protocol with two repairs: a request that cannot be read still gets a response, and errors go to the log."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """The typed message of a JSON object. Where a request has the wrong shape, its sender gets an error response first."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "method" in data and isinstance(data.get("id"), (int, str)):
                self._send_response(data["id"], error=error.to_response_error())
            raise

    def _handle_request(self, msg_id: int | str, method_name: str, params: Any) -> None:
        if self._workspace is None and method_name != types.INITIALIZE:
            self._send_response(msg_id, error=types.ResponseError(code=-32002, message="the server is not initialized"))
            return
        super()._handle_request(msg_id, method_name, params)

    def _send_handler_result(self, future: Any, *, msg_id: int | str) -> None:
        """Respond with the result; an expected failure gives its message without a stack in the log."""
        if not future.cancelled() and isinstance(error := future.exception(), JsonRpcException):
            self._request_futures.pop(msg_id, None)
            self._result_types.pop(msg_id, None)
            self._send_response(msg_id, error=error.to_response_error())
            return
        super()._send_handler_result(future, msg_id=msg_id)


def make_converter() -> Converter:
    """The converter of the protocol's types; messages that have no type keep their parameters as plain data."""
    converter = converters.get_converter()

    def request(data: dict[str, Any], _: Any) -> PlainRequest:
        return PlainRequest(data["id"], data["method"], data["jsonrpc"], data.get("params"))

    def notification(data: dict[str, Any], _: Any) -> PlainNotification:
        return PlainNotification(data["method"], data["jsonrpc"], data.get("params"))

    def response(data: dict[str, Any], _: Any) -> JsonRPCResponseMessage:
        return JsonRPCResponseMessage(data["id"], data["jsonrpc"], data.get("result"))

    converter.register_structure_hook(JsonRPCRequestMessage, request)
    converter.register_structure_hook(JsonRPCNotification, notification)
    converter.register_structure_hook(JsonRPCResponseMessage, response)
    return converter


def log_error(error: BaseException, source: type[BaseException]) -> None:
    """Write an error that no request waits for to the log, with its stack when there is one."""
    logger.error("%s: %s", source.__name__, error, exc_info=sys.exc_info()[0] is not None)


__all__ = [
    "REQUEST_FAILED",
    "SERVER_CANCELLED",
    "FirstFaultProtocol",
    "JsonRpcInternalError",
    "RequestFailed",
    "log_error",
    "make_converter",
]
