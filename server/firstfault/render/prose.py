"""A page of the encyclopedia as safe HTML: no raw HTML, no remote content, links to the web only. Knows no report."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .markup import Markup, element, text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}]")
_WEB = re.compile(r"(?i)https?://[^\s]+\Z")


def prose_html(markdown: str, *, level: int, failure: Callable[[str], Markup | None]) -> Markup:
    """Markdown as HTML whose first heading level is `level`. `failure` gives the link for a failure id in code, or None."""
    env = {"shift": level - 1, "failure": failure}
    return Markup(_parser().render(markdown, env))


def code_block(code: str, *buttons: Markup) -> Markup:
    """A block of code with its buttons."""
    pre = element("pre", element("code", code))
    bar = element("div", *buttons, class_="buttons") if buttons else None
    return element("div", pre, bar, class_="code")


def copy_button(value: str, label: str = "Copy", *, what: str = "") -> Markup:
    """A button that copies a text."""
    return element("button", label, type="button", data_action="copy", data_text=value, aria_label=f"{label} {what}" if what else None)


@functools.lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    md = MarkdownIt("commonmark", {"html": False}).enable(["table"]).disable(["html_block", "html_inline"])
    md.validateLink = lambda url: bool(_WEB.match(url))  # type: ignore[method-assign]
    md.core.ruler.push("web_links", _link_addresses)
    rules: dict[str, Callable[..., str]] = {
        "fence": _fence,
        "code_block": _fence,
        "code_inline": _code_inline,
        "image": _image,
        "link_open": _link_open,
        "heading_open": _heading,
        "heading_close": _heading,
        "table_open": lambda *_: '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>\n',
        "table_close": lambda *_: "</table></div>\n",
    }
    for name, rule in rules.items():
        md.add_render_rule(name, rule)
    return md


def _link_addresses(state: StateCore) -> None:
    """Bare web addresses in a text become links, as they do on the web where pages are read too."""
    from markdown_it.token import Token

    for block in state.tokens:
        if block.type != "inline" or not block.children:
            continue
        out: list[Token] = []
        inside = 0
        for token in block.children:
            inside += (token.type == "link_open") - (token.type == "link_close")
            if token.type != "text" or inside or "://" not in token.content:
                out.append(token)
                continue
            at = 0
            for m in _URL.finditer(token.content):
                opening = Token("link_open", "a", 1, attrs={"href": m[0]})
                out += [_text_token(token.content[at : m.start()]), opening, _text_token(m[0]), Token("link_close", "a", -1)]
                at = m.end()
            out.append(_text_token(token.content[at:]))
        block.children = out


def _text_token(content: str) -> Token:
    from markdown_it.token import Token

    return Token("text", "", 0, content=content)


# Render rules of markdown-it: (renderer, tokens, index, options, env) gives HTML. Everything that is not theirs is escaped.


def _fence(_: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    code = tokens[index].content.rstrip("\n")
    buttons = [copy_button(code)] if tokens[index].info.split(" ")[0] in ("bash", "sh", "shell") else []
    return code_block(code, *buttons)


def _code_inline(_: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    content = tokens[index].content
    return env["failure"](content) or element("code", content)


def _image(_: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return text(tokens[index].content)


def _link_open(_: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    href = str(tokens[index].attrGet("href") or "")
    if not _WEB.match(href):
        return "<a>"
    return element("a", href=href, rel="noopener noreferrer", target="_blank").removesuffix("</a>")


def _heading(_: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    tag = f"h{min(6, int(token.tag[1:]) + env['shift'])}"
    return f"<{tag}>" if token.nesting == 1 else f"</{tag}>\n"
