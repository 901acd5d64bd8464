"""Second-order fitting of softmax classifiers with the Fast Gauss-Newton curvature."""

from skfrontier.algos.optim.gauss_newton.curvature import fgn_gram
from skfrontier.algos.optim.gauss_newton.fit import SoftmaxFit, fit_softmax
from skfrontier.algos.optim.gauss_newton.margin import softmax_margin
from skfrontier.algos.optim.gauss_newton.step import FGNStep, fgn_step

__all__ = ["FGNStep", "SoftmaxFit", "fgn_gram", "fgn_step", "fit_softmax", "softmax_margin"]
