"""One policy for static and dynamic regret (Qian and Wei 2026), as a state machine on flat vectors.

``policy`` is the machine; it alternates epochs in which the static learner (``learner``) plays with
epochs that explore, detect and exploit (``tracking`` for exact losses, ``noisy_tracking``
otherwise, on the histograms of ``histogram``), with odds set by ``meta``. ``certificate`` tells
noise from change. ``layout`` names the words of the state.
"""
