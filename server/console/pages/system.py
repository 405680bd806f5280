"""The installation: settings in force, the findings of the doctor, and sources with the ingests that run."""

from __future__ import annotations

import asyncio

from winnow.server.console.records import Asked, PageView

# From one look at sources and jobs to the next, where the user asked to follow them.
_LIVE_SECONDS = 5


async def show_settings(asked: Asked) -> PageView:
    """Every setting, its value with secrets masked, and where it comes from."""
    return PageView("settings.html", "Settings", {"topics": await asyncio.to_thread(asked.reports.settings)})


async def show_doctor(asked: Asked) -> PageView:
    """The findings of the doctor, where they are asked for: its trials take seconds and start processes."""
    if asked.text("run") != "on":
        return PageView("doctor.html", "Doctor", {"findings": None, "bad": []})
    findings = await asked.reports.findings()
    bad = [finding for finding in findings if finding["essential"] and not finding["ok"]]
    return PageView("doctor.html", "Doctor", {"findings": findings, "bad": bad})


async def show_sources(asked: Asked) -> PageView:
    """Watched sources and the ingests that agents asked for; followed only where the user chose so.

    A page that loads itself anew takes the place from who reads it with a screen reader or magnified.
    """
    is_live = asked.text("live") == "on"
    values = {
        "watched": await asyncio.to_thread(asked.reports.sources),
        "jobs": await asyncio.to_thread(asked.reports.jobs),
        "is_live": is_live,
        "seconds": _LIVE_SECONDS,
    }
    return PageView("sources.html", "Sources", values, refresh_seconds=_LIVE_SECONDS if is_live else 0)
