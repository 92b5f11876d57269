"""One joint update written the way a PyTorch user would: eager, library layers, library Adam.

    python benchmarks/torch_learner.py sizes.json         # called by learner.py in an environment of its own

The same sizes, losses and gradients as `ndigo.training.learner`: model, online and target network, `open_loop`
predictor, categorical likelihood, NDIGO-H, Retrace, probe. Random windows; the time does not depend on them.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F


class Core(nn.Module):
    """CNN and GRU; PyTorch's GRU is the same recurrence, in one fused call for the whole window."""

    def __init__(self, s: SimpleNamespace):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(s.channels, s.filters, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(s.filters, s.filters, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(s.filters * ((s.view + 1) // 2) ** 2, s.features),
            nn.ReLU(),
        )
        self.gru = nn.GRU(s.features + s.actions, s.belief)

    def forward(self, o_t, a_tm1, h_0):
        z_t = self.cnn(o_t.flatten(0, 1)).unflatten(0, o_t.shape[:2])
        return self.gru(torch.cat([z_t, a_tm1], dim=-1), h_0[None])[0]


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


class QNetwork(nn.Module):
    def __init__(self, s: SimpleNamespace):
        super().__init__()
        self.core, self.value, self.advantage = Core(s), mlp(s.belief, s.head, 1), mlp(s.belief, s.head, s.actions)

    def forward(self, o_t, a_tm1, h_0):
        h_t = self.core(o_t, a_tm1, h_0)
        advantage = self.advantage(h_t)
        return self.value(h_t) + advantage - advantage.mean(-1, keepdim=True)


def rescale(x):
    return x / ((x.abs() + 1).sqrt() + 1) + 1e-3 * x


def unscale(x, e=1e-3):
    d = 2 * x.abs() / (1 + 2 * e + ((1 + 2 * e) ** 2 + 4 * e * x.abs()).sqrt())
    return x.sign() * d * (d + 2)


class Update:
    def __init__(self, s: SimpleNamespace):
        self.s = s
        self.core, self.online, self.target = Core(s), QNetwork(s), QNetwork(s)
        self.predictor, self.decoder = nn.GRU(s.actions, s.belief), mlp(s.belief, s.hidden, s.outputs)
        self.probe = mlp(s.belief, s.probe, s.objects * s.cells)
        modules = (self.core, self.online, self.predictor, self.decoder, self.probe)
        self.adam = torch.optim.Adam([p for m in modules for p in m.parameters()], fused=True)

    def losses(self, b_t, actions, o_tp1):
        """L_{t+k|t}, [K, T, B]; pairs beyond the window stand at zero."""
        s, T, B = self.s, len(actions), actions.shape[1]
        ahead = lambda x: torch.stack([F.pad(x[k:].movedim(0, -1), (0, k)).movedim(-1, 0) for k in range(s.ahead)])  # noqa: E731
        h_kt = self.predictor(ahead(actions).flatten(1, 2), b_t.flatten(0, 1)[None].contiguous())[0]
        logits = self.decoder(h_kt).unflatten(1, (T, B))
        n = s.view**2
        walls = F.binary_cross_entropy_with_logits(logits[..., :n], ahead(o_tp1[:, :, 0].flatten(2)), reduction="none")
        one_hot = o_tp1[:, :, 1:].flatten(3)
        where = torch.where(one_hot.any(-1), one_hot.argmax(-1), n)
        things = logits[..., n:].unflatten(-1, (s.objects, n + 1))
        nats = F.cross_entropy(things.flatten(0, 3), ahead(where).flatten(), reduction="none")
        inside = torch.arange(T) + torch.arange(1, s.ahead + 1)[:, None] <= T
        return (walls.sum(-1) + nats.view(*things.shape[:-1]).sum(-1)) * inside[..., None]

    def __call__(self, w: SimpleNamespace) -> float:
        s, T = self.s, len(w.a_t)
        b_t = self.core(w.o_t, w.a_tm1, w.h_0)
        loss_kt = self.losses(b_t[:-1], w.a_tm1[1:], w.o_t[1:])
        pairs = T - torch.arange(s.ahead)
        loss = (loss_kt.mean(-1).sum(-1) / pairs).sum()
        with torch.no_grad():
            H = s.horizon
            r_t = F.pad((loss_kt[H, : T - H] - loss_kt[H - 1, 1 : T - H + 1]).T, (H, 0)).T
            raw_t = unscale(self.target(w.o_t, w.a_tm1, w.h_0))
        q_t = self.online(w.o_t, w.a_tm1, w.h_0)
        with torch.no_grad():
            greedy = q_t.argmax(-1)
            v_t = raw_t.gather(-1, greedy[..., None])[..., 0]
            q_a = raw_t[:-1].gather(-1, w.a_t[..., None])[..., 0]
            c_t = 0.97 * (greedy[:-1] == w.a_t) / w.mu_t
            G_t, G = torch.empty_like(r_t), v_t[-1]
            for t in reversed(range(T)):
                G = r_t[t] + 0.99 * G
                G_t[t] = G
                G = v_t[t] + c_t[t] * (G - q_a[t])
        taken = q_t[:-1].gather(-1, w.a_t[..., None])[..., 0]
        loss = loss + 0.5 * ((rescale(G_t) - taken)[H:] ** 2).mean()
        at = slice(0, T // s.stride * s.stride, s.stride)
        places = self.probe(b_t.detach()[at]).unflatten(-1, (s.objects, s.cells))
        loss = loss + s.objects * F.cross_entropy(places.flatten(0, 2), w.cells[at].flatten())
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        return loss.item()


def random_window(s: SimpleNamespace) -> SimpleNamespace:
    T, B = s.window, s.batch
    a_tm1 = torch.randint(s.actions, (T + 1, B))
    return SimpleNamespace(
        o_t=(torch.rand(T + 1, B, s.channels, s.view, s.view) < 0.1).float(),
        a_tm1=F.one_hot(a_tm1, s.actions).float(),
        a_t=a_tm1[1:],
        mu_t=torch.full((T, B), 0.8),
        h_0=torch.zeros(B, s.belief),
        cells=torch.randint(s.cells, (T + 1, B, s.objects)),
    )


def main() -> None:
    s = SimpleNamespace(**json.loads(Path(sys.argv[1]).read_text()))
    torch.set_num_threads(s.threads)
    torch.manual_seed(0)
    update, window = Update(s), random_window(s)
    times, losses = [], []
    for _ in range(s.warm_up + s.repeats):
        began = time.perf_counter()
        losses.append(update(window))
        times.append(1e3 * (time.perf_counter() - began))
    if not losses[-1] < losses[0]:
        sys.exit(f"the loss did not fall: {losses[0]} -> {losses[-1]}")
    print(json.dumps({"ms": times[s.warm_up :], "torch": torch.__version__}))


if __name__ == "__main__":
    main()
