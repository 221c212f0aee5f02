"""Scenes of other programs: IPC's text scripts and polyfem's JSON."""
