"""Chooses between the plain functions and their fast twins; nothing else in the core knows of the fast ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax

from ndigo.agents.agent import as_it_is
from ndigo.config import Config
from ndigo.fast.twins import FAST
from ndigo.frames.cnn import Encoder, encode
from ndigo.model import predict
from ndigo.networks import GRU, Tree, unroll
from ndigo.training.acting import play
from ndigo.types import Twins
from ndigo.worlds.rollout import begin_where


def compiled(function: Callable[..., Any], name: str, made_from: Any, donate: int | None = None) -> Callable[..., Any]:
    """`jit` of a function; its argument number `donate` may be overwritten.

    The rest is for the fast twin. By the `name` (init, act, learn or measure) it chooses the compiler's options. By
    the settings and the world that the function is `made_from` it finds the program of an earlier command; None where
    these do not say all that the function closes over.
    """
    return jax.jit(function, donate_argnums=() if donate is None else (donate,))


PLAIN = Twins(
    encode=encode,
    unroll=unroll,
    predict=predict,
    joined=as_it_is,
    play=play,
    begin_where=begin_where,
    compiled=compiled,
)


def twins(config: Config) -> Twins:
    """The fast functions; the plain ones with `config.plain`."""
    return PLAIN if config.plain else FAST


def computed_by(by: Twins, networks: Tree) -> Tree:
    """The same networks, with encoders and GRUs that call these functions."""
    functions: dict[type, Any] = {Encoder: by.encode, GRU: by.unroll}

    def with_twin(x: Any) -> Any:
        return dataclasses.replace(x, by=functions[type(x)]) if type(x) in functions else x

    return jax.tree.map(with_twin, networks, is_leaf=lambda x: type(x) in functions)
