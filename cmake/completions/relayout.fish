# fish completion of relayout: subcommands, options and their values as its --help lists them.
function __relayout_commands
    COLUMNS=200 relayout --help 2>/dev/null | sed -nE "/^($argv)/,/^\$/s/^  ([a-z]+)  +(.*)/\1\t\2/p"
end

function __relayout_help
    set -l words (commandline -opc)
    COLUMNS=80 relayout $words[2] --help 2>/dev/null
end

function __relayout_options
    __relayout_help | string match -r '^ +-[-a-zA-Z0-9, ]*' | string match -arg '(?:^|[ ,])(--?[a-z0-9][a-z0-9-]*)'
end

# What stands for the value of the option before the cursor: "FILE", "DIR", "a|b"; nothing behind a flag or a file.
function __relayout_placeholder
    set -l words (commandline -opc)
    set -l option $words[-1]
    test (count $words) -gt 2; and string match -q -- '-*' $option; or return 1
    set -l found (__relayout_help | string match -rg "^ +(?:-[a-zA-Z], )?$option ([^ ]+)(?: .*)?\$")
    set -a found (__relayout_help | string match -rg "^ +$option, --[a-z0-9-]+ ([^ ]+)(?: .*)?\$")
    test -n "$found[1]"; and echo $found[1]
end

function __relayout_values
    set -l placeholder (__relayout_placeholder)
    switch "$placeholder"
        case '*|*' '*[*' transposes position
            string replace -r '\[.*' '' -- (string split '|' -- $placeholder)
        case FILE 'NAME=FILE'
            __fish_complete_path (commandline -ct)
        case DIR TREE
            __fish_complete_directories (commandline -ct) ''
        case NAME
            relayout convert --list-passes 2>/dev/null | string match -rg '^([^ ]+)'
    end
end

# Words that may stand behind a command before its files: "merge", "show".
function __relayout_actions
    set -l words (commandline -opc)
    test (count $words) -eq 2; or return 1
    set -l found (__relayout_help | sed -nE -e "/^Usage/,/^\$/s/^  relayout $words[2] ([a-z]+) .*/\1/p")
    test -n "$found[1]"; and string join \n $found
end

function __relayout_models
    __relayout_actions; and return
    __fish_complete_path (commandline -ct) | string replace -r '\t.*' '' | string match -r '.*/$|.*\.(?:onnx|onnxtxt|onnxtext|textproto|pbtxt|prototxt|json|pb)$'
end

complete -c relayout -f
complete -c relayout -n __fish_use_subcommand -a '(__relayout_commands Commands) help'
complete -c relayout -n '__fish_seen_subcommand_from help' -a '(__relayout_commands "Commands|Topics")'
complete -c relayout -n 'not __fish_use_subcommand; and not __fish_seen_subcommand_from help; and __relayout_placeholder >/dev/null' -a '(__relayout_values)'
complete -c relayout -n 'not __fish_use_subcommand; and not __fish_seen_subcommand_from help; and not __relayout_placeholder >/dev/null; and string match -q -- "-*" (commandline -ct)' -a '(__relayout_options)'
complete -c relayout -n 'not __fish_use_subcommand; and not __fish_seen_subcommand_from help; and not __relayout_placeholder >/dev/null; and not string match -q -- "-*" (commandline -ct)' -a '(__relayout_models)'
