# Completes the options of Portunus's tools from what their --help names, and file names. Sourced by bash.
_portunus() {
  COMPREPLY=()
  # After the program that is to be started come its own words.
  if [[ $2 == -* ]]; then
    local options
    options=$("$1" --help 2>/dev/null | grep -oE '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,')
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$2")
  fi
}
complete -o default -F _portunus ptlrun ptlsim goalrun goalc goaltune ptlinfo ptlstat cccmap oshrun
