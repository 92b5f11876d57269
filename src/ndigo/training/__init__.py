"""Training: actors play, the learner updates, and a run repeats both until it is told to stop.

One update, for one seed:

model_and_reward.py  the model predicts a window, and the reward pays for it
learner.py           one joint update of model, reward, Q-network and probe

A round, for all seeds:

acting.py            whole episodes into windows of the replay; `streams/` where episodes end by themselves
rounds.py            all actors play, then so many updates
trainer.py           both, compiled for all seeds and devices
twins.py             which functions compute: the plain ones or the fast

A run, on the host:

run.py               chunks of rounds; between them metrics, checkpoints and evaluations
divergence.py        stops at the first number that is not finite
signals.py, cost.py, logs.py, progress.py    Ctrl-C; what it costs; TensorBoard and W&B; what a person sees
trained.py           the networks of a run or of an agent file, to act with and to evaluate
"""
