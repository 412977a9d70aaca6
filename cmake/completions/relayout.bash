# bash completion of relayout: subcommands and options as its --help lists them.
_relayout() {
  local word=${COMP_WORDS[COMP_CWORD]} words
  if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then
    words=$(relayout --help 2>/dev/null | sed -nE 's/^ +([a-z]+)  .*/\1/p')
  elif [[ $word == -* ]]; then
    local command=()
    ((COMP_CWORD == 1)) || command=("${COMP_WORDS[1]}")
    words=$(relayout "${command[@]}" --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-z0-9][a-z0-9-]*')
  else
    compopt -o default
    COMPREPLY=()
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _relayout relayout
