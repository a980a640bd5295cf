"""Edits launch files: environment variables, timeouts and flags, wherever a job is started. Knows no log and no diagnosis.

A pure library: texts in, edits out. Only `candidates.find_candidates` and `command` touch the disk.

    edits_for(setting, text, path) -> list[TextEdit]      what to change so that the setting holds; [] when it already does
    edits_for_all(settings, text, path) -> list[TextEdit] the same for several settings together, by whole lines
    remove_edits(setting, text, path) -> list[TextEdit]   the reverse: take out what `edits_for` puts in
    remove_edits_all(settings, text, path)                the same for several together
    inverse_edits(text, edits) -> list[TextEdit]          undo: turns the edited text back into `text`, byte for byte
    apply_edits(text, edits) -> str
    detect_kind(path, text) -> Kind | None                which kind of launch file this is; None: not one
    settings.lookup(name) -> SettingInfo | None           meaning, values, versions, cost; `.hover_markdown(name)` for a hover
    advice.offered(settings, torch_version=, slow_but_living=) -> list[Offer]     which settings of a page fit a log
    advice.hang_diagnostics(torch_version) -> list[Wanted]                        "Add diagnostics for hangs"
    advice.present_diagnostics(text, path) -> list[Wanted]                        what "Remove FirstFault diagnostics" takes out
    advice.torch_version_in(log) -> str | None
    lint.lint(text, path, torch_version=, checkpoint_s=) -> list[LintHint]        hints while writing
    lint.fix_all_edits(text, path, torch_version=) -> list[TextEdit]              source.fixAll
    candidates.launch_files(files, hints) / find_candidates(folder, hints)        which file; candidates.hints_from_log(log)
    command.add_arguments(parser), command.run(args)                              firstfault fix

`setting` is anything with `kind`, `name` and `value`, such as `firstfault.model.Setting`:
    kind "env"      name NCCL_DEBUG, value INFO
    kind "timeout"  name init_process_group, new_group, InitProcessGroupKwargs, ddp_timeout, init_distributed, DDPStrategy,
                    or collective_timeout for whichever of them the file has; value in seconds, or 30m, 1h, timedelta(minutes=30)
    kind "flag"     name --distributed-timeout-minutes, value 60
A timeout is raised, never lowered: a longer one that is there stays.

`TextEdit` has 0-based lines and columns that count Unicode code points (a language server converts them to UTF-16); lines end at
\\n, \\r\\n or \\r. Edits of one call never overlap and are in document order.

`EditRefused` (a `FirstFaultError` with the four parts) is raised where a file is left alone, with the reason: it does not parse,
its kind cannot carry the setting, or the value is computed elsewhere. YAML needs the package ruamel.yaml; all else needs nothing.
"""

from __future__ import annotations

from firstfault.launch.dispatch import edits_for, edits_for_all, remove_edits, remove_edits_all
from firstfault.launch.edit import EditRefused, SettingLike, TextEdit, Wanted, apply_edits, inverse_edits
from firstfault.launch.kinds import Kind, detect_kind

__all__ = [
    "EditRefused",
    "Kind",
    "SettingLike",
    "TextEdit",
    "Wanted",
    "apply_edits",
    "detect_kind",
    "edits_for",
    "edits_for_all",
    "inverse_edits",
    "remove_edits",
    "remove_edits_all",
]
