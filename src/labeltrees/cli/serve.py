"""labeltrees serve."""

from __future__ import annotations

import ipaddress
from dataclasses import fields
from typing import Any

import click

from labeltrees.cli.command import Command
from labeltrees.cli.data_options import vocabulary_options
from labeltrees.cli.options import setting_options
from labeltrees.cli.output import plural
from labeltrees.errors import InputError
from labeltrees.serving import ServingSettings, require_extra

_EPILOG = """\b
Examples:
  labeltrees serve debian.model
  labeltrees serve subjects=library.model --label-texts subjects.tsv --port 8080 --workers 2
  curl -d '{"text": "a game with penguins", "k": 3}' http://127.0.0.1:8000/v1/models/debian/predict
"""


@click.command(cls=Command, epilog=_EPILOG)
@click.argument("models", metavar="MODEL...", nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for all.")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Port to listen on.")
@click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Number of processes.")
@vocabulary_options(
    "--label-texts",
    help="Texts to show for labels: two columns (.tsv or .csv), label and text, or SKOS (.ttl, .rdf).",
)
@click.option(
    "--api-keys",
    type=click.Path(exists=True, dir_okay=False),
    help="File with one API key per line; a request needs one of them. [default: no keys]",
)
@click.option(
    "--allow-origin",
    "allowed_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin call the server (CORS); may be repeated.",
)
@setting_options(ServingSettings)
def serve(
    models: tuple[str, ...],
    host: str,
    port: int,
    workers: int,
    vocabulary: str | None,
    language: str | None,
    api_keys: str | None,
    allowed_origins: tuple[str, ...],
    **settings: Any,
) -> None:
    """Serve models over HTTP, with a page to try them at /.

    MODEL is the folder of a model, NAME=FOLDER to give it a name, or the folder of a sweep for all its models. A model
    that is saved to its folder again replaces the old version; no request is lost. The server has its own JSON API
    (described at /docs), and supports the Open Inference Protocol v2 and Annif's REST API.
    """
    require_extra()
    known = {item.name for item in fields(ServingSettings)}
    checked = ServingSettings(**{name: value for name, value in settings.items() if name in known})
    start_server(
        _named_folders(models),
        checked,
        host=host,
        port=port,
        workers=workers,
        label_texts=vocabulary,
        language=language,
        api_keys=api_keys,
        allowed_origins=list(allowed_origins),
    )


def start_server(models: dict[str, str], settings: ServingSettings, *, host: str, port: int, **how: Any) -> None:
    """Check the models, print the address, and serve until the process is stopped."""
    from labeltrees.serving.limits import read_keys
    from labeltrees.serving.registry import Registry
    from labeltrees.serving.server import run_server
    from labeltrees.serving.shown_labels import read_shown_texts

    read_shown_texts(how.get("label_texts"), how.get("language"))
    if how.get("api_keys"):
        read_keys(how["api_keys"])
    names = Registry(models).names  # report a bad model once, instead of in every worker
    address = f"[{host}]" if ":" in host else host
    click.echo(f"Serving {plural(len(names), 'model')} ({', '.join(names)}) at http://{address}:{port}/", err=True)
    if not _is_loopback(host) and not how.get("api_keys"):
        click.echo("Anyone who can reach this address can use the models; --api-keys FILE limits this.", err=True)
    run_server(models, settings, host=host, port=port, **how)


def _named_folders(models: tuple[str, ...]) -> dict[str, str]:
    from labeltrees.serving.registry import name_of_folder

    found: dict[str, str] = {}
    for given in models:
        name, separator, folder = given.partition("=")
        if not separator:
            name, folder = name_of_folder(given), given
        if name in found:
            message = f"two models have the name {name!r}: write NAME=FOLDER to give one another name"
            raise InputError(message)
        found[name] = folder
    return found


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
