"""The world model: belief, predictors and likelihood; and the probe that reads the belief."""

from ndigo.frames import Likelihood
from ndigo.model.likelihood import LIKELIHOODS, make_likelihood
from ndigo.model.predictors import PREDICTORS, Predictor
from ndigo.model.probe import Probe, discovery_loss
from ndigo.model.world_model import WorldModel, init_world_model, inside, pair_weights, predict, prediction_loss

__all__ = [
    "LIKELIHOODS",
    "PREDICTORS",
    "Likelihood",
    "Predictor",
    "Probe",
    "WorldModel",
    "discovery_loss",
    "init_world_model",
    "inside",
    "make_likelihood",
    "pair_weights",
    "predict",
    "prediction_loss",
]
