"""Settings, with those of a user over the defaults."""

from collections import Mapping, OrderedDict


def merged(defaults, own):
    """Defaults with a user's own settings over them, in depth; the order is that of the defaults."""
    found = OrderedDict(defaults)
    for key, value in own.items():
        if isinstance(value, Mapping) and isinstance(found.get(key), Mapping):
            value = merged(found[key], value)
        found[key] = value
    return found


def lookup(settings, path, default=None):
    """A setting by its path, such as `screen.width`."""
    for name in path.split("."):
        if not isinstance(settings, Mapping) or name not in settings:
            return default
        settings = settings[name]
    return settings
