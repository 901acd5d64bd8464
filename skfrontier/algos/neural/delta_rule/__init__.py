"""Linear attention with the delta rule."""

from skfrontier.algos.neural.delta_rule.matrix import delta_rule_inverse_bound, delta_rule_matrix
from skfrontier.algos.neural.delta_rule.rule import DeltaRuleResult, delta_rule

__all__ = ["DeltaRuleResult", "delta_rule", "delta_rule_inverse_bound", "delta_rule_matrix"]
