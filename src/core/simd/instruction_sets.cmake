# One source, several instruction sets: the table of kernels is chosen at run time (dispatch.cpp), so one build is fast
# on new processors and runs on old ones. labeltrees_kernels(TARGET) sets the flags; call it where TARGET is defined.
function(labeltrees_kernels target)
  set(simd "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  # These files set macros and are compiled with flags of their own, so they never share a translation unit.
  set_source_files_properties(
    ${simd}/baseline.cpp ${simd}/avx2.cpp ${simd}/avx512.cpp ${simd}/neon.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
    target_compile_definitions(${target} PRIVATE LABELTREES_X86=1)
    set_source_files_properties(${simd}/avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;-mbmi2")
    set_source_files_properties(${simd}/avx512.cpp PROPERTIES
      COMPILE_OPTIONS "-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx2;-mfma;-mf16c;-mbmi2;-mprefer-vector-width=512")
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    target_compile_definitions(${target} PRIVATE LABELTREES_ARM=1)
    # Every ARM processor has fused multiply-add. Only the NEON kernels use it, so the baseline gives the bytes of other
    # processors (docs/decisions/0001-run-time-dispatch.md).
    target_compile_options(${target} PRIVATE -ffp-contract=off)
    set_source_files_properties(${simd}/neon.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=fast")
  endif()
endfunction()
