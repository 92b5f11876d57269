"""PPO and curiosity in one jit, as PureJaxRL does it: after the scan over steps a rollout is paid, then learned from.

python examples/purejaxrl_ppo.py      # Experiment 1, which pays nothing itself; nats per step, rollout by rollout
"""

import jax
import jax.numpy as jnp
import optax

import ndigo
from ndigo.interop.gymnax import GymnaxWorld


def act(network, o_t):  # -> log-probabilities of the actions, value
    x = jnp.tanh(o_t.reshape(*o_t.shape[:-3], -1) @ network[0]) @ network[1][1:] + network[1][0]
    return jax.nn.log_softmax(x[..., :-1]), x[..., -1]


def loss(network, o_t, a_t, log_p, advantage, target):
    log_ps, v = act(network, o_t)
    ratio = jnp.take_along_axis(jnp.exp(log_ps - log_p), a_t[..., None], -1)[..., 0]
    gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage)
    return (0.5 * (v - target) ** 2 - gain + 0.01 * (jnp.exp(log_ps) * log_ps).sum(-1)).mean()


def train(key, env, curiosity, weight=1.0, N=16, T=128, num_rollouts=100, rate=1e-3, gamma=0.99, lambda_=0.95):
    adam, keys = optax.adam(rate), jax.random.split(key, num_rollouts)

    def play(carry, key):
        (network, env_state, o_t), keys = carry, jax.random.split(key, N + 1)
        a_t = jax.random.categorical(keys[0], act(network, o_t)[0])
        o_tp1, env_state, r, is_terminal, is_cut, info = jax.vmap(env.step)(keys[1:], env_state, a_t)
        stream = {"a_t": a_t, "o_tp1": o_tp1, "is_first": is_terminal | is_cut, "o_last": info["final_observation"]}
        return (network, env_state, o_tp1), (stream, o_t, r, is_terminal)

    def rollout(carry, key):
        (network, moments, state, flights, env_state, o_t), keys = carry, jax.random.split(key, T + 1)
        (_, env_state, o_t), (stream, o, r, is_terminal) = jax.lax.scan(play, (network, env_state, o_t), keys[1:])
        flights, nats, _ = curiosity.pay_rollout(state.params, flights, **stream)  # by the weights from before `learn`
        state, _ = curiosity.learn(keys[0], state, **stream)
        (log_p, v), v_tp1 = act(network, o), ~is_terminal * act(network, stream["o_last"])[1]  # cut episodes go on
        x = r + weight * nats + gamma * v_tp1 - v, gamma * lambda_ * ~stream["is_first"]  # the pay is a reward
        gae = jax.lax.scan(lambda A, x: (x[0] + x[1] * A,) * 2, jnp.zeros(N), x, reverse=True)[1]
        data = o, stream["a_t"], log_p, gae / (gae.std() + 1e-8), gae + v
        for _ in range(4):
            updates, moments = adam.update(jax.grad(loss)(network, *data), moments)
            network = optax.apply_updates(network, updates)
        return (network, moments, state, flights, env_state, o_t), (nats.mean(), o)

    state, (o_0, env_state) = curiosity.init(key, N), jax.vmap(env.reset)(jax.random.split(key, N))
    flights, _, _ = curiosity.pay(state.params, curiosity.start(N), jnp.zeros(N, int), o_0, jnp.ones(N, bool))
    network = jax.random.normal(key, (o_0[0].size, 64)) / 8, jnp.zeros((65, env.num_actions + 1))
    return jax.lax.scan(rollout, (network, adam.init(network), state, flights, env_state, o_0), keys)[1]


if __name__ == "__main__":
    world = ndigo.EXPERIMENTS["exp1"].world
    curiosity = ndigo.curiosity("ndigo-4", world.frame, world.num_actions)
    print(jax.jit(lambda key: train(key, GymnaxWorld(world), curiosity)[0])(jax.random.key(0)))
