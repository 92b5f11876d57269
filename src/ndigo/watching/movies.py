"""Films as files: an animated GIF, or an MP4 that every browser plays."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from ndigo.errors import NdigoError, install
from ndigo.storage.episodes import Recording
from ndigo.storage.run_folder import WriteError, make_folder, write_whole
from ndigo.watching.film import Film, Measures
from ndigo.watching.scenes import map_scene, picture_scene

NUM_COLOURS = 240  # of a GIF; one of its 256 says that a pixel stays as it was
# What browsers play, sharp; the frames are few and flat, so a fast encoder's file is small enough.
ENCODING = ["-pix_fmt", "yuv420p", "-crf", "18", "-preset", "veryfast", "-tune", "animation", "-movflags", "+faststart"]
SHORTEST = 20  # milliseconds of a GIF's frame: browsers play one of 10 as one of 100
LAST_SECONDS = 2.0  # a GIF rests on its last frame before it starts again


def film_of(episodes: Recording, episode: int, *, scale: int = 1, until: int | None = None) -> Film:
    """The film of an episode up to step `until`: on its map, or of pictures of its frames."""
    length, measures = episodes.length(episode), Measures(scale)
    last = length if until is None else min(until, length)
    scene_of = map_scene if episodes.seen is None else picture_scene
    return Film(episodes, episode, scene_of(episodes, episode, last, measures), last, measures)


def write_gif(path: Path, film: Film, fps: float, on_frame: Callable[[int], None] = lambda done: None) -> None:
    """The film as a GIF that repeats for ever."""
    palette = _palette(film)

    def picture(t: int) -> Image.Image:
        on_frame(t + 1)
        # No dithering: it would flicker, and every flickering pixel is a byte.
        return Image.fromarray(film.frame(t)).quantize(palette=palette, dither=Image.Dither.NONE)

    times = [round(max(1000 / fps, SHORTEST))] * (len(film) - 1) + [round(1000 * max(LAST_SECONDS, 1 / fps))]
    data, others = io.BytesIO(), map(picture, range(1, len(film)))
    picture(0).save(data, "GIF", save_all=True, append_images=others, duration=times, loop=0, optimize=True, disposal=1)
    make_folder(path.parent)
    write_whole(path, data.getvalue())


def find_ffmpeg() -> str:
    """The program that encodes videos, or one line that says how to get it."""
    try:
        import imageio_ffmpeg
    except ImportError:
        raise NdigoError(f"a video needs the package imageio-ffmpeg: {install('video')}") from None
    return imageio_ffmpeg.get_ffmpeg_exe()


def write_video(path: Path, film: Film, fps: float, on_frame: Callable[[int], None] = lambda done: None) -> None:
    """The film as H.264 in an MP4."""
    make_folder(path.parent)
    temporary = path.with_name(f".{path.stem}.tmp.mp4")
    width, height = film.size
    command = [find_ffmpeg(), "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-", "-an", "-c:v", "libx264", *ENCODING]
    try:
        with tempfile.TemporaryFile() as complaints:
            # Not imageio-ffmpeg's own writer: it forks, which JAX's threads do not survive for certain.
            with subprocess.Popen([*command, str(temporary)], stdin=subprocess.PIPE, stderr=complaints) as ffmpeg:
                assert ffmpeg.stdin is not None
                with contextlib.suppress(BrokenPipeError):  # it gave up, and has said why
                    for t in range(len(film)):
                        ffmpeg.stdin.write(np.ascontiguousarray(film.frame(t)))
                        on_frame(t + 1)
                    ffmpeg.stdin.close()
            if ffmpeg.returncode:
                complaints.seek(0)
                lines = complaints.read().decode(errors="replace").split("\n")
                raise WriteError(f"cannot write {path}: ffmpeg says {next(filter(None, lines), 'nothing')}")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _palette(film: Film) -> Image.Image:
    """The colours of frames from all over the film."""
    ts = sorted({round(t) for t in np.linspace(0, len(film) - 1, 8)})
    together = Image.fromarray(np.concatenate([film.frame(t) for t in ts]))
    return together.quantize(NUM_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
