"""PPO by hand in PyTorch, as CleanRL writes it: the pay of a rollout joins its rewards before the advantages.

python examples/cleanrl_ppo.py              # MiniGrid's chain of two rooms
"""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from minigrid.wrappers import ImgObsWrapper
from minigrid_frame import FRAME

import ndigo


def train(world="MiniGrid-MultiRoom-N2-S4-v0", reward="ndigo-4", weight=0.01, steps=500_000, N=16, T=128, config=None):
    same_step = {"autoreset_mode": AutoresetMode.SAME_STEP}  # beside a new first frame, `final_obs` is the last one
    envs = gymnasium.make_vec(world, N, "sync", vector_kwargs=same_step, wrappers=[ImgObsWrapper])
    curiosity = ndigo.Curiosity(reward, FRAME, int(envs.single_action_space.n), N, config=config)
    net = torch.nn.Sequential(torch.nn.Linear(147, 64), torch.nn.Tanh(), torch.nn.Linear(64, curiosity.num_actions + 1))
    adam = torch.optim.Adam(net.parameters(), 1e-3)

    def act(frames):  # -> policy, value
        out = net(torch.as_tensor(frames, dtype=torch.float32).reshape(-1, 147) / 10)
        return torch.distributions.Categorical(logits=out[:, :-1]), out[:, -1]

    (next_obs, _), next_done = envs.reset(seed=0), np.zeros(N, bool)
    for _ in range(steps // (N * T)):
        (obs, finals), (dones, is_terminal) = np.zeros((2, T, N, 7, 7, 3), np.uint8), np.zeros((2, T, N), bool)
        actions, task = np.zeros((T, N), int), np.zeros((T, N), np.float32)
        for t in range(T):
            obs[t], dones[t], actions[t] = next_obs, next_done, act(next_obs)[0].sample()
            next_obs, task[t], is_terminal[t], truncated, infos = envs.step(actions[t])
            next_done = is_terminal[t] | truncated
            finals[t] = [infos["final_obs"][n] if is_end else next_obs[n] for n, is_end in enumerate(next_done)]
        then = {"next_observations": next_obs, "next_is_first": next_done}
        nats = curiosity.pay_rollout(actions, obs, is_first=dones, finals=finals, **then)
        curiosity.learn()  # after the pay: nobody is paid by a model that has seen what it is paid for
        rewards, ends = torch.tensor(task + weight * nats), torch.tensor(np.vstack([dones[1:], next_done[None]]))
        with torch.no_grad():
            (policy, v), taken = act(obs), torch.tensor(actions).flatten()
            v_tp1 = ~torch.tensor(is_terminal) * act(finals)[1].reshape(T, N)  # episodes that were cut go on
        gae, delta = torch.zeros(T + 1, N), rewards + 0.99 * v_tp1 - v.reshape(T, N)
        for t in reversed(range(T)):
            gae[t] = delta[t] + 0.99 * 0.95 * ~ends[t] * gae[t + 1]
        gae, log_p = gae[:T].flatten(), policy.log_prob(taken)
        for _ in range(4):
            policy, v_now = act(obs)
            ratio, advantage = (policy.log_prob(taken) - log_p).exp(), gae / (gae.std() + 1e-8)
            gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
            adam.zero_grad()
            (0.5 * (v_now - gae - v) ** 2 - gain - 0.01 * policy.entropy()).mean().backward()
            adam.step()
        yield task.sum(), nats.mean()


if __name__ == "__main__":
    print(*train(), sep="\n")
