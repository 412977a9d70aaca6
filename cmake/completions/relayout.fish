# fish completion of relayout: subcommands and options as its --help lists them.
function __relayout_commands
    relayout --help 2>/dev/null | string match -rg '^ +([a-z]+)  +(.*)' | while read -l name
        read -l text; and printf '%s\t%s\n' $name $text
    end
end
function __relayout_options
    set -l words (commandline -opc)
    relayout $words[2..2] --help 2>/dev/null | string match -arg '(?:^|[ ,])(--?[a-z0-9][a-z0-9-]*)'
end
complete -c relayout -n __fish_use_subcommand -f -a '(__relayout_commands)'
complete -c relayout -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__relayout_options)'
