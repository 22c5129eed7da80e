#!/bin/sh
# tool_page.sh HELP2MAN VERSION TOOL PAGE: the manual page of a tool from what its --help says, whose first line says what it is.
set -eu
name=$(basename "$3")
what=$("$3" --help | sed -n "1s/^$name: //; 1s/\.\$//; 1p")
# Called by its name alone, it does not say where it was built.
PATH=$(dirname "$3"):$PATH exec "$1" --no-info --version-string="$2" --source="Portunus $2" --name="$what" --output="$4" "$name"
