"""Learned reward against a perfect model's, one panel a channel, every step of every audited episode."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from ndigo.audit.episodes import AuditedEpisode
from ndigo.audit.numbers import Audit
from ndigo.report.figures import PAGE, write_figure

NUM_BINS = 45


def draw_scatter(audited: AuditedEpisode, audit: Audit, channels: Sequence[str], title: str, path: Path) -> Path:
    """Writes the picture and returns its path; steps that fall together darken a square."""
    assert audited.learned is not None
    figure = Figure(figsize=(PAGE, 0.6 + 0.9 * PAGE / len(channels)), layout="constrained")
    figure.suptitle(title, fontsize=8)
    axes = figure.subplots(1, len(channels), squeeze=False)[0]
    image = None
    for c, (axis, line) in enumerate(zip(axes, audit.pay[1:], strict=True)):
        x, y = audited.attainable[..., c].ravel(), audited.learned[..., c].ravel()
        low, high = min(x.min(), y.min()), max(x.max(), y.max())
        margin = max(0.05 * (high - low), 0.05)
        edges = np.linspace(low - margin, high + margin, NUM_BINS + 1)
        counts = np.histogram2d(x, y, bins=(edges, edges))[0]
        image = axis.pcolormesh(
            edges, edges, np.ma.masked_equal(counts, 0).T, cmap="viridis_r", norm=LogNorm(1, max(x.size, 2))
        )
        axis.axline((0, 0), slope=1, color="0.4", linewidth=0.8, linestyle=":")
        correlation = "" if line.correlation is None else f", correlation {line.correlation.mean:.2f}"
        axis.set_title(f"{line.name}{correlation}", fontsize=7.5)
        axis.set_xlabel("perfect model's reward (nats)", fontsize=7.5)
        axis.set_aspect("equal")
        axis.tick_params(labelsize=7)
    axes[0].set_ylabel("learned reward (nats)", fontsize=7.5)
    if image is not None:
        figure.colorbar(image, ax=axes, label="steps", shrink=0.8).ax.tick_params(labelsize=7)
    return write_figure(figure, path, dpi=200)
