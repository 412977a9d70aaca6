# Checks the #include lines of src/ and include/ against the order of the rooms: a room may use rooms below it, but none above it or at its
# level. Also checks the names of types in headers: two types of one name in one namespace break programs without a diagnostic from compiler
# or linker. (Debian puts every library's headers into one folder, so the include paths of a target protect no layer.)
#   cmake -DTOP=<source folder> -P check_layers.cmake              the check
#   cmake -DSELF_TEST=<empty folder> -P check_layers.cmake         a test of the check itself
cmake_minimum_required(VERSION 3.25)

set(rooms_0 base)
set(rooms_1 model report)
set(rooms_2 ops)
set(rooms_3 layout)
set(rooms_4 passes proof)
set(rooms_5 exec derive)
set(rooms_6 verify diff)
set(rooms_7 convert inspect profile run)
set(rooms_8 suite)
set(rooms_9 cli)
# Beyond the order: the executor runs models without rewrites and proofs, suites know processes and no numbers, and the command line is thin.
set(never_exec passes proof)
set(never_suite model ops layout passes proof derive exec profile diff convert inspect run)
set(never_cli model ops layout passes proof derive exec profile verify diff convert inspect run)

# The room that implements each public header.
set(headers_base error version estimate)
set(headers_model types tensor datum model graph short_list findings data_file save_options)
set(headers_layout layout)
set(headers_proof proof)
set(headers_passes pass_options)
set(headers_exec execute)
set(headers_derive derive merge)
set(headers_verify inputs verify derivative_check)
set(headers_profile profile diff)
set(headers_diff model_diff)
set(headers_convert convert)
set(headers_inspect inspect)
set(headers_run run extract reproducer)
set(headers_suite suite)

# The only files that may include a library: its headers | pattern of the files.
set(libraries
  "^(oneapi/)?dnnl" "^src/exec/onednn/"
  "^spdlog/" "^src/base/log\\.cpp$"
  "^CLI/" "^src/cli/"
  "^nlohmann/" "^src/report/"
  "^(onnx|google/protobuf)/" "^src/(model|ops|layout|passes|proof|derive|exec|profile|verify|diff|convert|inspect|run)/")

# Rooms inside rooms: files by prefix | headers of their room that they may include. The first matching prefix applies.
set(inner_rooms
  "^src/ops/loops/" "^ops/loops/"
  "^src/ops/(kernels/|op_table\\.cpp$)" "^ops/"
  "^src/ops/bodies/" "^ops/(bodies/|kernels/kernels\\.h$|[a-z_]+\\.h$)"
  "^src/ops/" "^ops/(loops/|[a-z_]+\\.h$)"
  "^src/exec/onednn/" "^exec/(onednn/|primitives\\.h$)"
  "^src/exec/kernels/" "^exec/(kernels/|(primitives|program)\\.h$)"
  "^src/exec/lower/" "^exec/(lower/|kernels/|(arena|constant_store|inference|layout_guide|plan|primitives|program)\\.h$)"
  "^src/exec/" "^exec/(lower/|kernels/|[a-z_]+\\.h$)"
  "^src/cli/common/" "^cli/common/"
  "^src/cli/suite/" "^cli/(suite|common)/"
  "^src/cli/verify/" "^cli/(verify|suite|common)/"
  "^src/cli/convert/" "^cli/(convert|verify|suite|common)/"
  "^src/cli/inspect/" "^cli/(inspect|convert|common)/"
  "^src/cli/profile/" "^cli/(profile|common)/"
  "^src/cli/run/" "^cli/(run|common)/"
  "^src/cli/extract/" "^cli/common/"
  "^src/cli/diff/" "^cli/(diff|profile|common)/"
  "^src/cli/derive/" "^cli/(derive|common)/"
  "^src/cli/merge/" "^cli/(merge|common)/"
  "^src/verify/inputs/" "^verify/(inputs/|run/elements\\.h$|thresholds\\.h$)"
  "^src/verify/run/" "^verify/(run/|inputs/|(acceptance|finding|interface|pair|thresholds)\\.h$)"
  "^src/verify/compare/" "^verify/(compare/|run/|(pair|thresholds)\\.h$)"
  "^src/verify/quantized/" "^verify/(quantized/|compare/|run/|(acceptance|pair|thresholds)\\.h$)"
  "^src/verify/stored/" "^verify/(stored/|run/|inputs/|(finding|thresholds)\\.h$)"
  "^src/verify/doubts/" "^verify/(doubts/|compare/|run/|inputs/|(evidence|finding|pair|thresholds|interface)\\.h$)"
  "^src/verify/" "^verify/(doubts/|compare/|quantized/|run/|inputs/|[a-z_]+\\.h$)")

foreach(level RANGE 9)
  foreach(room IN LISTS rooms_${level})
    set(level_${room} ${level})
    foreach(header IN LISTS headers_${room})
      set(home_${header} ${room})
    endforeach()
  endforeach()
endforeach()

# check_names(<source folder> <file> <variable for the list of complaints>): compares the types of a header with those of earlier headers.
function(check_names top file result)
  set(complaints)
  set(space)
  file(STRINGS ${top}/${file} lines REGEX "^(namespace [a-z_:]+|(struct|class|union|enum class) [A-Z][A-Za-z0-9]*[^;]*) {$")
  foreach(line IN LISTS lines)
    if(line MATCHES "^namespace ([a-z_:]+)")
      set(space ${CMAKE_MATCH_1})
    elseif(line MATCHES "^[a-z ]+ ([A-Z][A-Za-z0-9]*) ")
      set(name "${space}::${CMAKE_MATCH_1}")
      string(MAKE_C_IDENTIFIER "${name}" key)
      get_property(other GLOBAL PROPERTY defines_${key})
      if(other AND NOT other STREQUAL file)
        list(APPEND complaints "${file}: ${name} is the name of another type in ${other}")
      endif()
      set_property(GLOBAL PROPERTY defines_${key} ${file})
    endif()
  endforeach()
  set(${result} "${complaints}" PARENT_SCOPE)
endfunction()

# check(<source folder> <variable for the list of complaints>)
function(check top result)
  set(complaints)
  file(GLOB_RECURSE files RELATIVE ${top} ${top}/src/*.cpp ${top}/src/*.h ${top}/include/*.h)
  foreach(file IN LISTS files)
    set(room)
    set(public OFF)
    if(file MATCHES "^src/([a-z_]+)/")
      set(room ${CMAKE_MATCH_1})
    elseif(file MATCHES "^include/relayout/([a-z_]+)\\.h$")
      set(public ON)
      set(room "${home_${CMAKE_MATCH_1}}")
    endif()
    if(NOT DEFINED level_${room})
      list(APPEND complaints "${file}: has no place in the table of cmake/check_layers.cmake")
      continue()
    endif()
    if(file MATCHES "\\.h$")
      check_names(${top} ${file} said)
      list(APPEND complaints ${said})
    endif()
    file(STRINGS ${top}/${file} lines REGEX "^[ \t]*#[ \t]*include[ \t]*[<\"]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[^<\"]*[<\"]([^>\"]*)[>\"].*" "\\1" header "${line}")
      set(said "${file}: may not include ${header}")
      set(other)
      set(through_public OFF)
      if(header MATCHES "^relayout/([a-z_]+)\\.h$")
        set(other "${home_${CMAKE_MATCH_1}}")
        set(through_public ON)
      else()
        string(REGEX REPLACE "/.*" "" other "${header}")
        if(NOT DEFINED level_${other})
          set(other)
        endif()
      endif()
      if(other)
        if(public AND NOT through_public)
          list(APPEND complaints "${said}: users of the library do not have it")
        elseif(NOT other STREQUAL room AND NOT level_${other} LESS level_${room})
          list(APPEND complaints "${said}: ${room} (${level_${room}}) is not above ${other} (${level_${other}})")
        elseif(NOT through_public AND other IN_LIST never_${room})
          list(APPEND complaints "${said}: ${room} does without ${other}")
        endif()
      endif()
      set(rules ${inner_rooms})
      while(rules)
        list(POP_FRONT rules place allowed)
        if(file MATCHES "${place}")
          if(header MATCHES "^${room}/" AND NOT header MATCHES "${allowed}")
            list(APPEND complaints "${said}: of its room only ${allowed}")
          endif()
          break()
        endif()
      endwhile()
      set(rules ${libraries})
      while(rules)
        list(POP_FRONT rules library allowed)
        if(header MATCHES "${library}" AND NOT file MATCHES "${allowed}")
          list(APPEND complaints "${said}: only ${allowed} may")
        endif()
      endwhile()
    endforeach()
  endforeach()
  set(${result} "${complaints}" PARENT_SCOPE)
endfunction()

if(SELF_TEST)
  # file | its line | whether the line is allowed
  set(cases
    "src/model/a.cpp|#include \"base/text.h\"|yes"
    "src/model/a.cpp|#include \"ops/op.h\"|no"
    "src/model/a.cpp|#include \"report/table.h\"|no"
    "src/model/a.cpp|  #  include <relayout/execute.h>|no"
    "src/model/a.cpp|#include \"relayout/error.h\"|yes"
    "src/exec/a.cpp|#include \"passes/pass.h\"|no"
    "src/exec/a.cpp|#include \"layout/layout_plan.h\"|yes"
    "src/exec/a.cpp|#include <oneapi/dnnl/dnnl.hpp>|no"
    "src/exec/onednn/a.cpp|#include <oneapi/dnnl/dnnl.hpp>|yes"
    "src/exec/kernels/a.cpp|#include \"exec/primitives.h\"|yes"
    "src/exec/kernels/a.cpp|#include \"exec/plan.h\"|no"
    "src/ops/loops/a.cpp|#include \"ops/loops/b.h\"|yes"
    "src/ops/loops/a.cpp|#include \"ops/op.h\"|no"
    "src/ops/kernels/a.cpp|#include \"ops/op.h\"|yes"
    "src/ops/a.cpp|#include \"ops/loops/b.h\"|yes"
    "src/ops/a.cpp|#include \"ops/kernels/b.h\"|no"
    "src/ops/op_table.cpp|#include \"ops/kernels/b.h\"|yes"
    "src/exec/kernels/a.cpp|#include \"ops/kernels/b.h\"|yes"
    "src/exec/kernels/a.cpp|#include \"exec/lower/lowering.h\"|no"
    "src/exec/lower/a.cpp|#include \"exec/kernels/kernel.h\"|yes"
    "src/exec/lower/a.cpp|#include \"exec/routine.h\"|no"
    "src/exec/onednn/a.cpp|#include \"exec/kernels/kernel.h\"|no"
    "src/exec/a.cpp|#include \"exec/lower/lowering.h\"|yes"
    "src/exec/a.cpp|#include \"exec/onednn/common.h\"|no"
    "src/proof/a.cpp|#include \"passes/affine.h\"|no"
    "src/verify/a.cpp|#include \"diff/models.h\"|no"
    "src/base/text.cpp|#include <spdlog/spdlog.h>|no"
    "src/base/log.cpp|#include <spdlog/spdlog.h>|yes"
    "src/base/a.h|#include <onnx/onnx_pb.h>|no"
    "src/convert/a.cpp|#include <CLI/CLI.hpp>|no"
    "src/cli/a.cpp|#include <CLI/CLI.hpp>|yes"
    "src/cli/a.cpp|#include \"passes/pass.h\"|no"
    "src/cli/a.cpp|#include \"relayout/convert.h\"|yes"
    "src/cli/a.cpp|#include \"suite/b.h\"|yes"
    "src/cli/common/a.cpp|#include \"cli/verify/b.h\"|no"
    "src/cli/diff/a.cpp|#include \"cli/profile/b.h\"|yes"
    "src/suite/a.cpp|#include \"cli/b.h\"|no"
    "src/suite/a.cpp|#include \"exec/b.h\"|no"
    "src/verify/a.cpp|#include <nlohmann/json.hpp>|no"
    "include/relayout/graph.h|#include \"relayout/convert.h\"|no"
    "include/relayout/graph.h|#include \"base/text.h\"|no"
    "include/relayout/graph.h|#include <onnx/onnx_pb.h>|no"
    "include/relayout/graph.h|#include <vector>|yes"
    "include/relayout/unheard.h|#include <vector>|no"
    "src/attic/a.cpp|#include <vector>|no"
    "src/exec/port.h|namespace relayout {\nstruct Port {\n|yes"
    "src/verify/port.h|namespace relayout {\nstruct Port {\n|no"
    "src/proof/port.h|namespace relayout::proof {\nclass Port : public Other {\n|yes")
  foreach(case IN LISTS cases)
    string(REGEX MATCH "^([^|]*)\\|([^|]*)\\|(.*)$" unused "${case}")
    set(expected ${CMAKE_MATCH_3})
    file(REMOVE_RECURSE ${SELF_TEST})
    file(WRITE ${SELF_TEST}/${CMAKE_MATCH_1} "${CMAKE_MATCH_2}\n")
    check(${SELF_TEST} complaints)
    if((expected STREQUAL yes AND complaints) OR (expected STREQUAL no AND NOT complaints))
      message(SEND_ERROR "expected '${expected}' for ${case}, got '${complaints}'")
    endif()
  endforeach()
else()
  check(${TOP} complaints)
  foreach(complaint IN LISTS complaints)
    message(SEND_ERROR "${complaint}")
  endforeach()
endif()
