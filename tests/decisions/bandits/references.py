"""The policies once more, in plain Python and NumPy, written from their formulas."""

import math

import numpy as np
from scipy.optimize import brentq

_MASK = 2**64 - 1


def _rotl(x, k):
    return ((x << k) | (x >> (64 - k))) & _MASK


class Xoshiro:
    def __init__(self, seed):
        words = np.random.SeedSequence(seed).generate_state(4, np.uint64)
        self.s = [int(w) for w in words]

    def uniform(self):
        s = self.s
        result = (_rotl((s[0] + s[3]) & _MASK, 23) + s[0]) & _MASK
        t = (s[1] << 17) & _MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = _rotl(s[3], 45)
        return (result >> 11) * 2.0**-53

    def below(self, n):
        return min(int(n * self.uniform()), n - 1)

    def draw(self, law):
        u = self.uniform()
        hits = np.flatnonzero(u < np.cumsum(law))
        return int(hits[0]) if len(hits) else int(np.flatnonzero(law)[-1])


def tsallis(L, eta):
    """q = 4 / (eta (L - x))^2 with x from a bracketing root finder."""
    L = np.asarray(L, dtype=float)
    L = L - L.min()

    def excess(x):
        return np.sum(4 / (eta * (L - x)) ** 2) - 1

    x = brentq(excess, -2 * math.sqrt(len(L)) / eta - 1e-9, -1.9999 / eta, xtol=1e-14, rtol=1e-15)
    q = 4 / (eta * (L - x)) ** 2
    return q / q.sum()


class Weights:
    """Exp3, Exp3-IX, Exp3.P, Exp3.S, FixedShare and Tsallis-INF, horizon known."""

    def __init__(self, kind, A, T, seed, S=10, delta=0.05):
        self.kind, self.A, self.T, self.S, self.delta = kind, A, T, S, delta
        self.rng = Xoshiro(seed)
        self.p = np.full(A, 1 / A)
        self.w = np.full(A, 1 / A)
        self.L = np.zeros(A)
        self.t = 0

    def select(self):
        self.arm = self.rng.draw(self.p)
        return self.arm

    def update(self, c):
        A, T, S, I = self.A, self.T, self.S, self.arm  # noqa: E741
        self.t += 1
        eta = math.sqrt(2 * math.log(A) / (A * T))
        hit = np.arange(A) == I
        if self.kind in ("Exp3", "Exp3IX"):
            gamma = eta / 2 if self.kind == "Exp3IX" else 0.0
            self.L = self.L + hit * c / (self.p[I] + gamma)
            self.p = np.exp(-eta * (self.L - self.L.min()))
            self.p /= self.p.sum()
        elif self.kind == "TsallisINF":
            self.L = self.L + hit * c / self.p[I]
            self.p = tsallis(self.L, 2 / math.sqrt(self.t + 1))
        elif self.kind == "FixedShareBandit":
            eta = math.sqrt(2 * S * math.log(A * T / S) / (A * T))
            q = self.p * np.exp(-eta * hit * c / (self.p + eta / 2))
            self.p = (1 - S / T) * q / q.sum() + S / (T * A)
        elif self.kind == "Exp3P":
            gamma = min(0.6, 2 * math.sqrt(0.6 * A * math.log(A) / T))
            alpha = 2 * math.sqrt(math.log(A * T / self.delta))
            x = hit * (1 - c) / self.p[I]
            bonus = alpha / (self.p * math.sqrt(A * T))
            self.w = self.w * np.exp(gamma / (3 * A) * (x + bonus))
            self.w /= self.w.sum()
            self.p = (1 - gamma) * self.w + gamma / A
        elif self.kind == "Exp3S":
            gamma = min(1, math.sqrt(A * (S * math.log(A * T) + math.e) / ((math.e - 1) * T)))
            w = self.w * np.exp(gamma * hit * (1 - c) / self.p[I] / A)
            w = w + math.e / (A * T) * self.w.sum()
            self.w = w / w.sum()
            self.p = (1 - gamma) * self.w + gamma / A


class Index:
    """UCB1, sliding-window and discounted UCB from the whole history."""

    def __init__(self, kind, A, T, S=10, confidence=0.5**0.5):
        self.kind, self.A, self.confidence = kind, A, confidence
        self.window = T + 1
        if kind == "SlidingWindowUCB":
            self.window = max(A, math.ceil(2 * math.sqrt(T * math.log(T) / S)))
        self.discount = 1 - 0.25 * math.sqrt(S / T) if kind == "DiscountedUCB" else 1.0
        self.history = []

    def select(self):
        past = self.history[-self.window :]
        weights = self.discount ** np.arange(len(past))[::-1]
        arms = np.array([a for a, _ in past], dtype=int)
        losses = np.array([c for _, c in past])
        n = np.bincount(arms, weights, self.A)
        if np.any(n == 0):
            self.arm = int(np.argmin(n > 0))
        else:
            mean = np.bincount(arms, weights * losses, self.A) / n
            width = self.confidence * np.sqrt(math.log(max(n.sum(), 1)) / n)
            self.arm = int(np.argmin(mean - width))
        return self.arm

    def update(self, c):
        self.history.append((self.arm, c))


class Monitored:
    """M-UCB from the losses of each arm since the last restart."""

    def __init__(self, A, T, window, S=10, confidence=2**0.5):
        self.A, self.w, self.confidence = A, window, confidence
        self.b = math.sqrt(window / 2 * math.log(2 * A * T**2))
        cost = (S - 1) * A * (2 * self.b + 3 * math.sqrt(window))
        self.gamma = min(0.5, math.sqrt(cost / (2 * T)))
        self.t = self.tau = 0
        self.seen = [[] for _ in range(A)]

    def select(self):
        since = self.t - self.tau
        turn = since % math.floor(self.A / self.gamma)
        if turn < self.A:
            self.arm = turn
        elif any(not s for s in self.seen):
            self.arm = next(a for a, s in enumerate(self.seen) if not s)
        else:
            index = [
                np.mean(s) - self.confidence * math.sqrt(math.log(since) / len(s))
                for s in self.seen
            ]
            self.arm = int(np.argmin(index))
        return self.arm

    def update(self, c):
        self.t += 1
        s = self.seen[self.arm]
        s.append(c)
        half = self.w // 2
        if len(s) >= self.w and abs(sum(s[-half:]) - sum(s[-self.w : -half])) > self.b:
            self.seen = [[] for _ in range(self.A)]
            self.tau = self.t


def _fixed_share_rates(A, T, S):
    return math.sqrt(2 * S * math.log(A * T / S) / (A * T)), S / T


def _fixed_share(q, eta, gamma, share, arm, loss):
    q = q.copy()
    q[arm] *= math.exp(-eta * loss / (q[arm] + gamma))
    return (1 - share) * q / q.sum() + share / len(q)


class OverBandit:
    """Bandit over bandit for a known horizon."""

    def __init__(self, A, T, seed):
        self.A, self.T, self.rng = A, T, Xoshiro(seed)
        self.H = math.ceil(math.sqrt(A * T))
        self.candidates = [2**k for k in range(60) if 2**k <= self.H]
        M = len(self.candidates)
        self.eta = math.sqrt(2 * math.log(M) / (M * math.ceil(T / self.H)))
        self.L, self.p = np.zeros(M), np.full(M, 1 / M)
        self.left = self.t = 0

    def select(self):
        if self.left == 0:
            self.k = self.rng.draw(self.p)
            self.left = min(self.H, self.T - self.t)
            self.block_loss = 0.0
            self.q = np.full(self.A, 1 / self.A)
        self.arm = self.rng.draw(self.q)
        return self.arm

    def update(self, c):
        eta, share = _fixed_share_rates(self.A, self.H, self.candidates[self.k])
        self.q = _fixed_share(self.q, eta, eta / 2, min(share, 0.5), self.arm, c)
        self.block_loss += c
        self.t += 1
        self.left -= 1
        if self.left == 0:
            self.L[self.k] += self.block_loss / self.H / (self.p[self.k] + self.eta / 2)
            self.p = np.exp(-self.eta * (self.L - self.L.min()))
            self.p /= self.p.sum()


class Corral:
    """CORRAL over Exp3-IX and FixedShare for a known horizon, lam by a root finder."""

    def __init__(self, A, T, seed, S=10):
        self.T, self.rng = T, Xoshiro(seed)
        self.bases = [(math.sqrt(2 * math.log(A) / (A * T)), 0.0), _fixed_share_rates(A, T, S)]
        self.q = [np.full(A, 1 / A) for _ in self.bases]
        self.p = np.full(2, 0.5)
        self.pbar = np.full(2, 0.5)
        self.rates = np.full(2, 2 / math.sqrt(T))
        self.rho = np.full(2, 4.0)

    def select(self):
        self.k = self.rng.draw(self.pbar)
        self.arm = self.rng.draw(self.q[self.k])
        return self.arm

    def update(self, c):
        estimate = c / self.pbar[self.k]
        eta, share = self.bases[self.k]
        gamma = eta / 2 / self.pbar[self.k]
        self.q[self.k] = _fixed_share(self.q[self.k], eta, gamma, share, self.arm, estimate)
        loss = estimate * (np.arange(2) == self.k)
        if estimate > 0:
            lam = brentq(
                lambda x: np.sum(1 / (1 / self.p + self.rates * (loss - x))) - 1,
                0,
                min(estimate, np.min(1 / self.p / self.rates + loss) * (1 - 1e-12)),
                xtol=1e-15,
            )
            p = 1 / (1 / self.p + self.rates * (loss - lam))
            self.p = p / p.sum()
        self.pbar = (1 - 1 / self.T) * self.p + 1 / (2 * self.T)
        for k in range(2):
            if 1 / self.pbar[k] > self.rho[k]:
                self.rho[k] = 2 / self.pbar[k]
                self.rates[k] *= math.exp(1 / math.log(self.T))


class Histogram:
    """Buckets (size, sum, sum of squares), newest first."""

    def __init__(self):
        self.buckets = []

    def moments(self):
        n = sum(b[0] for b in self.buckets)
        if n == 0:
            return 0, 0.5, 0.0
        mean = sum(b[1] for b in self.buckets) / n
        return n, mean, max(sum(b[2] for b in self.buckets) / n - mean**2, 0.0)

    def enter(self, c, T):
        self.buckets.insert(0, (1, c, c * c))
        size = 1
        while sum(b[0] == size for b in self.buckets) > 4:
            old, older = [k for k, b in enumerate(self.buckets) if b[0] == size][-2:]
            merged = tuple(np.add(self.buckets[old], self.buckets[older]))
            self.buckets[old : older + 1] = [merged]
            size *= 2
        n, mean, v = self.moments()
        if n > 16 and n % 4:
            return False
        log_term = 0.6 * (math.log(T) + math.log(1 + math.log(n)))
        new = new_sum = 0
        for k, bucket in enumerate(self.buckets):
            new, new_sum = new + bucket[0], new_sum + bucket[1]
            old = n - new
            if new < 2 or old < 2:
                continue
            h = 1 / new + 1 / old
            bound = math.sqrt(2 * h * v * log_term) + 2 * h * log_term / 3
            if abs(new_sum / new - (n * mean - new_sum) / old) > bound:
                self.buckets = self.buckets[: k + 1]
                return True
        return False


class StaticDynamic:
    """The static-dynamic policy, one generator coroutine per epoch kind."""

    def __init__(self, A, T, seed, S=None, feedback="auto", base="tsallis", anytime=False):
        self.A, self.S_given, self.feedback, self.base = A, S, feedback, base
        self.rng = Xoshiro(seed)
        self.T = max(1024, 16 * A) if anytime else T
        self.stage_end = self.T
        self.S = 1.0 if S is None or feedback == "noisy" else S
        self.noisy = feedback == "noisy"
        self.delta = 0.0
        self.q, self.L, self.fed = np.full(A, 1 / A), np.zeros(A), 1
        self.m, self.best, self.swept = np.full(A, 0.5), 0, False
        self.looks, self.last_change, self.n_changes = np.full(A, -1), -1, 0
        self.P = self.Q = self.n_rev = 0
        self.recent = []  # (arm, loss) of the last rounds outside sweeps
        self.hist = [Histogram() for _ in range(A)]
        self.t, self.epoch_end, self.mode = 0, 0, None
        self._parameters()
        self._announce()

    def _parameters(self):
        self.B = max(2 * self.A, math.ceil(0.5 * math.sqrt(self.A * self.T)))
        self.eta_in = math.sqrt(2 * math.log(self.A) / (self.A * self.T))
        self._exploration()

    def _exploration(self):
        self.rho = min(0.5, 0.5 * math.sqrt(self.S * self.A / self.T))

    def _announce(self):
        d = self.delta
        self.beta = 0.5 + d / (2 * (math.sqrt(d * d + 4) + 2))
        w = 1 - self.beta
        S = 1.0 if self.noisy else self.S
        self.p_track = self.beta / (self.beta + w * math.sqrt(S) / 3)
        fresh = self.t - self.looks.min() <= 2 * self.B
        self.go_on = self.S_given is None and self.mode == "track" and fresh
        self.G = 0.0
        self.epoch_end = min(self.t + self.B, self.stage_end)
        self.mode = None

    def _leader(self):
        stats = [h.moments() for h in self.hist]
        total = sum(n for n, _, _ in stats)
        index = []
        for a, (n, mean, v) in enumerate(stats):
            if n == 0:
                return a
            term = math.log(max(2, total)) / n
            index.append(mean - math.sqrt(2 * term * min(0.25, v + term)))
        return int(np.argmin(index))

    def select(self):
        A, rng = self.A, self.rng
        if self.mode is None:
            if rng.uniform() >= self.p_track:
                self.mode = "static"
            else:
                self.mode = "noisy" if self.noisy else "track" if self.go_on else "sweep"
                self.order, self.position, self.seen = list(range(A)), 0, {}
        if self.mode == "static":
            self.arm = rng.draw(self.q)
        elif self.mode == "sweep":
            k = self.position
            if A - k > 1:
                j = k + rng.below(A - k)
                self.order[k], self.order[j] = self.order[j], self.order[k]
            self.arm = self.order[k]
        elif self.mode == "track":
            self.pi = np.full(A, self.rho / (A - 1))
            self.pi[self.best] = 1 - self.rho
            self.arm = self.best
            if rng.uniform() < self.rho:
                other = rng.below(A - 1)
                self.arm = other + (other >= self.best)
        else:
            self.leader = self._leader()
            self.pi = self.rho * (0.5 / A + 0.5 * self.q)
            self.pi[self.leader] += 1 - self.rho
            self.arm = self.leader
            if rng.uniform() < self.rho:
                self.arm = rng.below(A) if rng.uniform() < 0.5 else rng.draw(self.q)
        return self.arm

    def _feed(self, estimate, rounds, played=None):
        if self.base == "tsallis":
            self.fed += rounds
            self.L = self.L + estimate
            self.q = tsallis(self.L, 2 / math.sqrt(self.fed))
            return
        if played is not None:  # Exp3-IX divides by q + eta/2
            estimate = estimate * self.q[played] / (self.q[played] + self.eta_in / 2)
        q = self.q * np.exp(-self.eta_in * (estimate - estimate.min()))
        self.q = q / q.sum()

    def _certificate(self, arm, c):
        self.recent = [*self.recent[-2:], (arm, c)]
        if len(self.recent) == 3 and len({a for a, _ in self.recent}) == 1:
            d1 = self.recent[1][1] - self.recent[0][1]
            d2 = self.recent[2][1] - self.recent[1][1]
            self.P -= d1 * d2
            self.Q += d1**2
            self.n_rev += d1 * d2 < 0

    def update(self, c):
        A, arm = self.A, self.arm
        hit = np.arange(A) == arm
        if self.mode == "static":
            if self.noisy:
                self.n_changes += self.hist[arm].enter(c, self.T)
            else:
                self._certificate(arm, c)
            self._feed(hit * c / self.q[arm], 1, played=arm)
        elif self.mode == "sweep":
            self._sweep(arm, c)
        else:
            if self.mode == "noisy":
                m = np.array([h.moments()[1] for h in self.hist])
            else:
                m = self.m.copy()
                self._certificate(arm, c)
            estimate = m + hit * (c - m) / self.pi
            self.G += self.q @ estimate - c
            self._feed(estimate, 1)
            if self.mode == "noisy":
                if self.hist[arm].enter(c, self.T):
                    self.n_changes += 1
                    if arm == self.leader:
                        for a in range(A):
                            if a != arm:
                                self.hist[a] = Histogram()
            else:
                self._look(arm, c)
        if self.feedback == "auto" and not self.noisy:
            need = 8 if self.S_given is None else max(8, self.S)
            if self.P > self.Q / 4 and self.n_rev >= need:
                self.noisy, self.n_changes, self.S = True, 0, 1.0
                self.mode = "noisy" if self.mode == "track" else self.mode
                self._exploration()
        if (self.S_given is None or self.noisy) and 1 + self.n_changes > self.S:
            self.S = 2.0 * (1 + self.n_changes)
            self._exploration()
        self.t += 1
        if self.t == self.epoch_end:
            self._end_epoch()

    def _sweep(self, arm, c):
        A = self.A
        self.recent = []
        self.seen[arm] = (c, self.t)
        self.G -= c
        self.position += 1
        if self.position < A:
            return
        values = np.array([self.seen[a][0] for a in range(A)])
        changed = [values[a] != self.m[a] and self.looks[a] >= self.last_change for a in range(A)]
        best = int(np.argmin(values))
        if self.swept and best != self.best and any(changed):
            self.n_changes += 1
            self.last_change = self.t
        self.m, self.best, self.swept = values, best, True
        self.looks = np.array([self.seen[a][1] for a in range(A)])
        self.G += A * (self.q @ self.m)
        self._feed(A * self.m, A)
        self.mode = "track"

    def _look(self, arm, c):
        if c != self.m[arm]:
            self.m[arm] = c
            best = int(np.argmin(self.m))
            if best != self.best and self.looks[arm] >= self.last_change:
                self.n_changes += 1
                self.last_change = self.t
            self.best = best
        self.looks[arm] = self.t

    def _end_epoch(self):
        if self.mode in ("track", "noisy"):
            G = min(max(self.G, -self.B), self.B)
            self.delta += G / self.B * (1 + (1 - self.beta) / (2 * self.beta))
        if self.t == self.stage_end:
            self.T *= 2
            self.stage_end += self.T
            B = self.B
            self._parameters()
            self.delta *= B / self.B
        self._announce()


def play(reference, losses):
    arms = np.empty(len(losses), dtype=int)
    for t, row in enumerate(losses):
        arms[t] = reference.select()
        reference.update(row[arms[t]])
    return arms
