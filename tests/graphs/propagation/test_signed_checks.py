"""scikit-learn's own checks, on tables of features."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skfrontier.estimators import SignedLabelPropagation, SignedLabelPropagationRegressor


@parametrize_with_checks(
    [SignedLabelPropagation(graph="knn"), SignedLabelPropagationRegressor(graph="knn")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
