# bash completion of relayout: subcommands, options and their values as its --help lists them.

# What stands for the value of option $2 of command $1 in its help: "FILE", "DIR", "a|b"; nothing for a flag.
_relayout_placeholder() {
  COLUMNS=80 relayout "$1" --help 2>/dev/null |
    sed -nE -e "s/^ +(-[a-zA-Z], )?$2 ([^ ]+)( .*)?\$/\2/p" -e "s/^ +$2, --[a-z0-9-]+ ([^ ]+)( .*)?\$/\1/p" | head -n 1
}

# Words that may stand behind command $1 before its files: "merge", "show".
_relayout_actions() {
  COLUMNS=80 relayout "$1" --help 2>/dev/null | sed -nE -e "/^Usage/,/^$/s/^  relayout $1 ([a-z]+) .*/\1/p"
}

# Folders and the files that end like models.
_relayout_models() {
  compopt -o filenames
  mapfile -t COMPREPLY < <(
    compgen -d -- "$1"
    compgen -f -- "$1" | grep -E '\.(onnx|onnxtxt|onnxtext|textproto|pbtxt|prototxt|json|pb)$'
  )
}

_relayout_value() {
  local word=$3 placeholder words
  placeholder=$(_relayout_placeholder "$1" "$2")
  case $placeholder in
    *'|'* | *'['*) words=${placeholder//|/ } ;;
    FILE | NAME=FILE) compopt -o default; COMPREPLY=(); return ;;
    DIR | TREE) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    NAME) words=$(relayout convert --list-passes 2>/dev/null | sed -E 's/ .*//') ;;
    '') return 1 ;;
    *[!a-z]*) COMPREPLY=(); return ;;
    *) words=$placeholder ;; # the one value that there is
  esac
  # "auto|never[:BYTES]": what is in brackets is the user's.
  words=$(sed -E 's/\[[^]]*\]//g' <<<"$words")
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

_relayout() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words
  if ((COMP_CWORD == 1)) && [[ $word != -* ]]; then
    words=$(relayout --help 2>/dev/null | sed -nE '/^Commands/,/^$/s/^  ([a-z]+)  .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$words help" -- "$word")
    return
  fi
  if ((COMP_CWORD == 2)) && [[ ${COMP_WORDS[1]} == help ]]; then
    words=$(relayout --help 2>/dev/null | sed -nE '/^(Commands|Topics)/,/^$/s/^  ([a-z]+)  .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    return
  fi
  # --option=value is three words to bash.
  if [[ $word == '=' ]]; then
    _relayout_value "${COMP_WORDS[1]}" "$previous" "" && return
  elif [[ $previous == '=' ]]; then
    _relayout_value "${COMP_WORDS[1]}" "${COMP_WORDS[COMP_CWORD - 2]}" "$word" && return
  elif [[ $previous == -* ]]; then
    _relayout_value "${COMP_WORDS[1]}" "$previous" "$word" && return
  fi
  if [[ $word == -* ]]; then
    local command=()
    ((COMP_CWORD == 1)) || command=("${COMP_WORDS[1]}")
    words=$(COLUMNS=80 relayout "${command[@]}" --help 2>/dev/null | grep -oE -- '^ +-[-a-zA-Z0-9, ]*' | grep -oE -- '--?[a-z0-9][a-z0-9-]*')
    ((COMP_CWORD != 1)) || words="--help --version"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  else
    words=
    ((COMP_CWORD != 2)) || words=$(_relayout_actions "${COMP_WORDS[1]}")
    if [[ -n $words ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    else
      _relayout_models "$word"
    fi
  fi
}
complete -F _relayout relayout
