# Compiles `files` files of a room as one, so that their includes are parsed and instantiated once. Names in unnamed namespaces must then
# differ within a room. Files with separate compile options are compiled alone, and so is every file in presets that check each file.
function(compile_together target files)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RELAYOUT_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()
