"""Multi-armed bandits: policies as kernels on flat state vectors, regrets and evaluation.

The state of every policy is one float64 vector ``f``, one int64 vector ``i`` and the four uint64
words ``rng`` of its generator. ``rounds`` says which words all policies share; each policy's module
says what the others hold.
"""
