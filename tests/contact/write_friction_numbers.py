"""Writes friction_numbers.csv, what ipctk says of the meshes of friction_cases.py; needs ipctk, and tests/ in PYTHONPATH.

Of each mesh in both forms of the barrier, sticking and slipping: energy, and along `probe` the slope and the curvature.
"""

import csv
from pathlib import Path

import friction_cases as cases
import ipctk
from contact_meshes import probe


def main():
    with Path(__file__).with_name("friction_numbers.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"ipctk {ipctk.__version__}", "form", "slip", "energy", "slope", "curvature"])
        for key, arguments in cases.configurations():
            energy, gradient, hessian = cases.of_ipctk(*arguments, key[1])
            along = probe(len(arguments[0]))
            numbers = (energy, gradient.ravel() @ along, along @ (hessian @ along))
            writer.writerow([*key, *(f"{value:.17g}" for value in numbers)])


if __name__ == "__main__":
    main()
