"""Arguments, files and access to the compiled modules; not part of the public interface."""
