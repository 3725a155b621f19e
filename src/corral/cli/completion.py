"""``corral completion``: what a shell needs to complete corral's commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .options import debug_option

VARIABLE = "_CORRAL_COMPLETE"

EPILOG = """\b
Examples:
  corral completion bash >> ~/.bashrc
  corral completion zsh >> ~/.zshrc
  corral completion fish > ~/.config/fish/completions/corral.fish"""


@click.command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
@debug_option
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: bash, zsh or fish."""
    script = get_completion_class(shell)
    if script is None:  # a Choice allows only those that click knows
        raise click.ClickException(f"no completion for {shell}")
    click.echo(script(ctx.find_root().command, {}, "corral", VARIABLE).source())
