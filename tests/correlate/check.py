"""One way to state who must be blamed for a log."""

from __future__ import annotations

from firstfault.diagnose import diagnose_text

ANY = object()


def check(log, failure, ranks=ANY, *, verdict=None, evidence=None, collateral=(), missing=None, severity="error"):
    """Diagnose `log`; the first incident must be `failure` on `ranks`, proved by a line that holds `evidence`.

    Each text of `collateral` must stand in a line that is given as collateral and in none that is given as initiating.
    """
    diagnosis = diagnose_text(log)
    incidents = [i for i in diagnosis.report.incidents if i.severity == severity]
    if failure is None:
        assert not incidents, [(i.failure, i.evidence[0].text) for i in incidents]
        return None
    assert incidents, "nothing was diagnosed"
    incident = incidents[0]
    got = (incident.failure, incident.initiating.ranks, [(e.line, e.text[:100]) for e in incident.evidence], incident.reasons)
    assert incident.failure == failure, got
    if ranks is not ANY:
        assert incident.initiating.ranks == (None if ranks is None else tuple(ranks)), got
    if verdict is not None:
        assert incident.verdict.value == verdict, (incident.verdict, got)
    initiating = [e for e in incident.evidence if e.role == "initiating"]
    lines = log.split("\n")
    for e in initiating:
        assert e.text == lines[e.line - 1].rstrip("\r")[:2000]
    if evidence is not None:
        assert any(evidence in e.text for e in initiating), got
    for text in collateral:
        assert not any(text in e.text for e in initiating), got
        assert any(text in lines[c.line - 1] for c in incident.collateral), (text, incident.collateral)
    if missing is not None:
        assert any(missing in m.fact + m.command for m in incident.missing), incident.missing
    return incident
