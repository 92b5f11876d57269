"""The world model: belief, predictors and likelihood."""

from ndigo.model.likelihood import LIKELIHOODS, Likelihood, make_likelihood
from ndigo.model.predictors import PREDICTORS, Predictor
from ndigo.model.world_model import WorldModel, init_world_model, inside, prediction_loss

__all__ = [
    "LIKELIHOODS",
    "PREDICTORS",
    "Likelihood",
    "Predictor",
    "WorldModel",
    "init_world_model",
    "inside",
    "make_likelihood",
    "prediction_loss",
]
