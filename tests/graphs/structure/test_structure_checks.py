"""scikit-learn's own checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.estimators import GraphACV


@parametrize_with_checks(
    [GraphACV(), GraphACV(transformation="npn", rule="or", sparse_output=True)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
