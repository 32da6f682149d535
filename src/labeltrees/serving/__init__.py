"""An HTTP server for models: its own JSON form, the Open Inference Protocol, Annif's form, and a page.

It needs the extra ``labeltrees[serve]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labeltrees._extras import import_extra
from labeltrees.serving.settings import ServingSettings

if TYPE_CHECKING:
    from labeltrees.serving.asgi import AsgiApp

__all__ = ["ServingSettings", "make_app"]


def make_app(
    models: Any,
    *,
    settings: ServingSettings | None = None,
    label_texts: Any = None,
    api_keys: Any = (),
    allowed_origins: Any = (),
) -> AsgiApp:
    """Return an ASGI application that serves models, for any ASGI server.

    Parameters
    ----------
    models : model, folder, list of folders, or mapping from names to models and folders
        A folder is watched: when a new version of the model is saved there, it replaces the old one. The name of a
        folder without its ending is the name of the model.
    settings : ServingSettings, optional
        Limits, threads, access log.
    label_texts : mapping from label names to texts, or path, optional
        A text to show for each label, for labels that are URIs or codes. A path is a file as for `read_vocabulary`; if
        it has several languages, pass ``lt.read_vocabulary(path, language)``.
    api_keys : iterable of str, or path
        If there are any, a request needs one of them. A path is a file with one key per line.
    allowed_origins : iterable of str
        Origins whose pages may call this server from a browser (CORS).

    Examples
    --------
    >>> import labeltrees as lt
    >>> model = lt.LabelTreeClassifier().fit(["red apple", "green pear"] * 5, [["apple"], ["pear"]] * 5)
    >>> app = make_app({"fruit": model})
    >>> app.registry.names
    ['fruit']
    """
    require_extra()
    from labeltrees.serving.app import App
    from labeltrees.serving.asgi import AsgiApp
    from labeltrees.serving.keys import read_keys
    from labeltrees.serving.label_texts import read_label_texts
    from labeltrees.serving.registry import Registry

    settings = ServingSettings() if settings is None else settings
    registry = Registry(models, read_label_texts(label_texts), in_memory=settings.in_memory)
    app = App(registry, settings, api_keys=read_keys(api_keys), allowed_origins=tuple(allowed_origins))
    return AsgiApp(app)


def require_extra() -> None:
    """Raise `MissingExtraError` if the packages of the extra are not installed."""
    for package in ("msgspec", "prometheus_client"):
        import_extra(package, "serve", "serving")
