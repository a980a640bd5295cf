"""All needles of the grammars in one place: literal text that makes a line worth keeping although no page names it."""

from ..read import blocks
from . import actors, attempts, collectives, communicators, launchers, progress, ranks, reruns, stacks

GRAMMAR_NEEDLES: dict[str, int] = {
    **actors.NEEDLES,
    **attempts.NEEDLES,
    **progress.NEEDLES,
    **reruns.NEEDLES,
    **ranks.NEEDLES,
    **collectives.NEEDLES,
    **communicators.NEEDLES,
    **stacks.NEEDLES,
    **launchers.NEEDLES,
    **blocks.NEEDLES,
}
