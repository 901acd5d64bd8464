"""Pictures of a fitted graph."""

from typing import Any

import networkx as nx
import numpy as np
from sklearn.utils.validation import check_is_fitted


class EdgePathDisplay:
    """Number of edges over kappa, beside that of expected false ones.

    Where the curve is flat, the graph does not depend on the training size. Use `from_estimator`.

    Parameters
    ----------
    path : GraphPath
        Of `GraphACV.edge_path`.
    kappa : float
        The level that was chosen.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib Line2D
        Edges, expected false edges, and the level, if it is finite.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from skfrontier.datasets import make_gaussian_graph
    >>> from skfrontier.estimators import EdgePathDisplay, GraphACV
    >>> model = GraphACV().fit(make_gaussian_graph(300, 20, random_state=0)[0])
    >>> EdgePathDisplay.from_estimator(model).ax_.get_xlabel()
    'kappa'
    """

    def __init__(self, *, path, kappa):
        self.path = path
        self.kappa = kappa

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Plot the path of a fitted `GraphACV`.

        Parameters
        ----------
        estimator : GraphACV
            Fitted.
        ax : matplotlib Axes or None, default=None
            None makes a figure.

        Returns
        -------
        EdgePathDisplay
        """
        check_is_fitted(estimator)
        return cls(path=estimator.edge_path(), kappa=estimator.kappa_).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a figure.

        Returns
        -------
        EdgePathDisplay
        """
        ax = _axes(ax)
        kappa, n_edges, false = self.path
        self.lines_ = ax.step(kappa, n_edges, where="post", label="edges")
        self.lines_ += ax.plot(kappa, false, "--", label="expected false edges")
        if np.isfinite(self.kappa):
            self.lines_.append(ax.axvline(self.kappa, color="0.4", lw=1, label="chosen"))
        ax.set(xlabel="kappa", ylabel="number of edges", xscale="log", yscale="log")
        ax.set_ylim(0.5, max(2 * n_edges.max(initial=1), 2))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class GraphDisplay:
    """The graph, thicker where edges have a higher score, by the sign of the relation. Use `from_estimator`.

    Parameters
    ----------
    graph : networkx.Graph
        Of `GraphACV.to_networkx`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    pos_ : dict
        Place of each node.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from skfrontier.datasets import make_gaussian_graph
    >>> from skfrontier.estimators import GraphACV, GraphDisplay
    >>> model = GraphACV().fit(make_gaussian_graph(300, 20, random_state=0)[0])
    >>> len(GraphDisplay.from_estimator(model).pos_)
    20
    """

    def __init__(self, *, graph):
        self.graph = graph

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, pos=None, node_color="0.85", with_labels=True):
        """Draw the graph of a fitted `GraphACV`.

        Parameters
        ----------
        estimator : GraphACV
            Fitted.
        ax : matplotlib Axes or None, default=None
            None makes a figure.
        pos : dict or None, default=None
            Place of each node; None: by springs, the same every time.
        node_color : color or list of colors, default="0.85"
            Of all nodes or of each.
        with_labels : bool, default=True
            Whether names are written.

        Returns
        -------
        GraphDisplay
        """
        check_is_fitted(estimator)
        display = cls(graph=estimator.to_networkx())
        return display.plot(ax=ax, pos=pos, node_color=node_color, with_labels=with_labels)

    def plot(self, *, ax=None, pos=None, node_color="0.85", with_labels=True):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a figure.
        pos : dict or None, default=None
            Place of each node; None: by springs, the same every time.
        node_color : color or list of colors, default="0.85"
            Of all nodes or of each.
        with_labels : bool, default=True
            Whether names are written.

        Returns
        -------
        GraphDisplay
        """
        ax = _axes(ax)
        self.pos_ = nx.spring_layout(self.graph, weight=None, seed=0) if pos is None else pos
        edges = list(self.graph.edges(data=True))
        scores = np.array([facts["score"] for *_, facts in edges])
        widths = 0.5 + 3 * scores / scores.max(initial=1.0)
        nx.draw_networkx_edges(
            self.graph,
            self.pos_,
            ax=ax,
            width=widths,
            edge_color=["tab:blue" if facts["weight"] > 0 else "tab:red" for *_, facts in edges],
        )
        nx.draw_networkx_nodes(
            self.graph, self.pos_, ax=ax, node_color=node_color, node_size=60, edgecolors="0.4"
        )
        if with_labels:
            nx.draw_networkx_labels(self.graph, self.pos_, ax=ax, font_size=7)
        ax.set_axis_off()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]
