"""Certificates: intersections of a whole trajectory, verified independently of the solvers."""
