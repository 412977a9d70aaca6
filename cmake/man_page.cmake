# Writes OUT: TEMPLATE with the help of PROGRAM and of each of its subcommands.
function(help result)
  # man indents by 7 columns, and terminals have 80.
  execute_process(COMMAND ${CMAKE_COMMAND} -E env COLUMNS=73 LC_ALL=C.UTF-8 ${PROGRAM} ${ARGN} --help OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# Literal text in roff: no line may begin with a control character.
function(literal text result)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
  set(${result} ".nf\n${text}\n.fi\n" PARENT_SCOPE)
endfunction()

help(main)
literal("${main}" text)
set(COMMANDS ".SH COMMANDS\n${text}")
foreach(command IN ITEMS convert verify inspect profile diff report)
  if(main MATCHES "\n *${command}[ \n]")  # a long summary is below the name
    help(text ${command})
    literal("${text}" text)
    string(TOUPPER ${command} title)
    string(APPEND COMMANDS ".SH ${title}\n${text}")
  endif()
endforeach()
configure_file(${TEMPLATE} ${OUT} @ONLY)
