"""An HTTP server for models: its own JSON API, the Open Inference Protocol, Annif's API, and a web page.

It needs the extra ``labeltrees[serve]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees._extras import import_extra
from labeltrees.serving.settings import ServingSettings

if TYPE_CHECKING:
    from starlette.applications import Starlette

__all__ = ["ServingSettings", "make_app"]


def make_app(
    models: Any,
    *,
    settings: ServingSettings | None = None,
    label_texts: Any = None,
    api_keys: Any = (),
    allowed_origins: Any = (),
) -> Starlette:
    """Return an ASGI application that serves models, for any ASGI server.

    Four arguments matter: `models` says what is served and under which names, `settings` limits the size and time of
    requests, `api_keys` restricts access, and `label_texts` makes labels readable that are URIs or codes.

    Parameters
    ----------
    models : model, folder, list of folders, or mapping from names to models and folders
        A folder is watched: when a new version of the model is saved there, it replaces the old one. The
        model is named after its folder, without the ending .model. The folder of a sweep adds all its models.
    settings : ServingSettings, optional
        Limits, threads, access log.
    label_texts : mapping from label names to texts, or path, optional
        A text to show for each label, for labels that are URIs or codes. A path is a file as for `read_vocabulary`; if
        it has several languages, pass ``lt.read_vocabulary(path, language)``.
    api_keys : iterable of str, or path
        If given, requests need one of these keys, except for pages and health checks. A path is a file with one key
        per line.
    allowed_origins : iterable of str
        Origins whose pages may call this server from a browser (CORS).

    Examples
    --------
    >>> import labeltrees as lt
    >>> model = lt.LabelTreeClassifier().fit(["red apple", "green pear"] * 5, [["apple"], ["pear"]] * 5)
    >>> app = make_app({"fruit": model})
    >>> app.state.service.registry.names
    ['fruit']
    """
    require_extra()
    import_extra("prometheus_client", "serve", "serving")
    from labeltrees.serving.app import make_starlette
    from labeltrees.serving.limits import read_keys
    from labeltrees.serving.registry import Registry
    from labeltrees.serving.shown_labels import read_shown_texts

    settings = ServingSettings() if settings is None else settings
    registry = Registry(models, read_shown_texts(label_texts), in_memory=settings.in_memory)
    return make_starlette(registry, settings, api_keys=read_keys(api_keys), allowed_origins=tuple(allowed_origins))


def require_extra() -> None:
    """Raise `MissingExtraError` if the packages of the extra are not installed."""
    for package in ("msgspec", "starlette"):  # not prometheus_client: importing it decides where its counters are kept
        import_extra(package, "serve", "serving")
