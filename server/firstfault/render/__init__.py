"""Renderings of a report for people and tools. Adds nothing to what the report says."""
