"""Certificates: intersections of a whole trajectory, searched for apart from the solvers."""
