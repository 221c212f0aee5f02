"""What every run of the tests can be asked for."""


def pytest_addoption(parser):
    parser.addoption(
        "--each-choice",
        action="store_true",
        help="of a test's combinations of parameters only as many as let every value of every parameter occur",
    )
    parser.addoption("--stress", action="store_true", help="the tests marked `stress`, and only these")


def pytest_collection_modifyitems(config, items):
    leave_out(config, items, [item for item in items if bool(item.get_closest_marker("stress")) != config.getoption("--stress")])
    if config.getoption("--each-choice"):
        leave_out(config, items, repeated(items))


def leave_out(config, items, left):
    config.hook.pytest_deselected(items=left)
    left_out = set(left)
    items[:] = [item for item in items if item not in left_out]


def repeated(items):
    """All but an each-choice selection [Ammann and Offutt 1994]: what a slow run can afford of a product of parameters."""
    seen, left = {}, []
    for item in items:
        if item.get_closest_marker("every"):
            continue
        parameters = getattr(item, "callspec", None)
        choices = {(name, repr(value)) for name, value in parameters.params.items()} if parameters else {()}
        known = seen.setdefault(item.nodeid.split("[")[0], set())
        if choices <= known:
            left.append(item)
        known |= choices
    return left
