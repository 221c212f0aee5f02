"""Arguments, files and access to the compiled modules; no part of the public interface."""
