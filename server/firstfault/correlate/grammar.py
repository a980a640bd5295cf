"""All needles of the grammars in one place: literal text that makes a line worth keeping although no page names it."""

from . import attempts, collectives, launchers, ranks
from ..read import blocks

GRAMMAR_NEEDLES: dict[str, int] = {
    **attempts.NEEDLES,
    **ranks.NEEDLES,
    **collectives.NEEDLES,
    **launchers.NEEDLES,
    **blocks.NEEDLES,
}
