"""Anderson acceleration in NumPy, by a QR factorisation of all differences: what the one of the core is compared with."""

import numpy as np

GROWTH = 2.0  # of csrc/linear/anderson.c


class Combined:
    """The sequence x_0, x_1, .. of a map from x to g, both flat; `weights` are those of the inner product."""

    def __init__(self, window=5, regularization=1e-10, safeguard="residual", potential=None, weights=1.0):
        self.window, self.regularization, self.safeguard, self.potential = window, regularization, safeguard, potential
        self.roots = np.sqrt(weights)
        self.bound, self.rejected = None, 0
        self.forget()

    def forget(self):
        self.f, self.g, self.was_combined = [], [], False

    def combination(self):
        """The next iterate, and whether it is another one than the last g."""
        df, dg = (np.diff(each, axis=0)[-self.window :] for each in (self.f, self.g))
        lengths = np.linalg.norm(df * self.roots, axis=1)
        df, dg, lengths = df[lengths > 0], dg[lengths > 0], lengths[lengths > 0]
        if not len(df):
            return self.g[-1], False
        columns = (df * self.roots / lengths[:, None]).T
        rows = np.vstack([columns, np.sqrt(self.regularization) * np.eye(len(df))])
        right = np.concatenate([self.f[-1] * self.roots, np.zeros(len(df))])
        c = np.linalg.lstsq(rows, right, rcond=1e-12)[0]
        return self.g[-1] - (c / lengths) @ dg, True

    def after(self, x, g):
        """The iterate after x, whose plain iteration ends at g."""
        f = g - x
        size = np.linalg.norm(f * self.roots)
        if self.safeguard == "residual" and self.was_combined and not size <= GROWTH * np.linalg.norm(self.f[-1] * self.roots):
            back = self.g[-1]
            self.forget()
            self.rejected += 1
            return back
        self.f, self.g = [*self.f, f][-self.window - 1 :], [*self.g, g][-self.window - 1 :]
        if len(self.f) == 1:
            found, self.was_combined = g, False
        else:
            found, self.was_combined = self.combination()
        if self.safeguard != "potential":
            return found
        potential = self.potential(found)
        self.bound = potential if self.bound is None else self.bound
        if potential > self.bound * (1 + 1e-13):
            self.rejected += 1
            return g
        self.bound = min(self.bound, potential)
        return found
