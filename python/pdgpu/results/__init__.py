"""Records of steps, tables, histories of runs, and rates of convergence."""
