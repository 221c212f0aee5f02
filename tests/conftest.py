"""What every run of the tests can be asked for."""


def pytest_addoption(parser):
    parser.addoption(
        "--each-choice",
        action="store_true",
        help="of a test's combinations of parameters only as many as let every value of every parameter occur",
    )


def pytest_collection_modifyitems(config, items):
    """The each-choice criterion [Ammann and Offutt 1994]: what a slow run can afford of a product of parameters."""
    if not config.getoption("--each-choice"):
        return
    seen, kept, left = {}, [], []
    for item in items:
        parameters = getattr(item, "callspec", None)
        choices = {(name, repr(value)) for name, value in parameters.params.items()} if parameters else {()}
        known = seen.setdefault(item.nodeid.split("[")[0], set())
        (left if choices <= known else kept).append(item)
        known |= choices
    config.hook.pytest_deselected(items=left)
    items[:] = kept
