# So many files of a room are compiled as one: what they include is parsed and instantiated once. Names in their unnamed namespaces must
# then differ within a room. Files with options of their own stay alone, and so does every file in the presets that check each.
function(compile_together target files)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RELAYOUT_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()
