"""How good a model is, how well it knows that, and whether two readers agree."""

from keras_attention.evaluation.evaluation import Evaluation, evaluate

__all__ = ["Evaluation", "evaluate"]
