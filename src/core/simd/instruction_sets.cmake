# One source, several instruction sets: the table of kernels is chosen at run time (dispatch.cpp), so one build is fast
# on new processors and runs on old ones. labeltrees_kernels(TARGET) sets the flags; call it where TARGET is defined.
function(labeltrees_kernels target)
  set(simd "${CMAKE_CURRENT_FUNCTION_LIST_DIR}")
  # Each of these is compiled with its own flags, so they never share a translation unit.
  set_source_files_properties(
    ${simd}/baseline.cpp ${simd}/avx2.cpp ${simd}/avx512.cpp ${simd}/neon.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(x86 ${simd}/avx2.cpp ${simd}/avx512.cpp)
  set(arm ${simd}/neon.cpp)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
    set(x86)
    target_compile_definitions(${target} PRIVATE LABELTREES_X86=1)
    set_source_files_properties(${simd}/avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;-mbmi2")
    set(avx512 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -mbmi2 -mprefer-vector-width=512)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC 12 warns about undefined vectors inside its own AVX-512 intrinsics.
      list(APPEND avx512 -Wno-uninitialized -Wno-maybe-uninitialized)
    endif()
    set_source_files_properties(${simd}/avx512.cpp PROPERTIES COMPILE_OPTIONS "${avx512}")
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(arm)
    target_compile_definitions(${target} PRIVATE LABELTREES_ARM=1)
    # Every ARM processor has fused multiply-add. Only the NEON kernels use it, so the baseline gives the same bytes as
    # on other processors (docs/decisions/0001-run-time-dispatch.md).
    target_compile_options(${target} PRIVATE -ffp-contract=off)
    set_source_files_properties(${simd}/neon.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=fast")
  endif()
  # The files of other processors are not compiled.
  set_source_files_properties(${x86} ${arm} PROPERTIES HEADER_FILE_ONLY ON)
endfunction()
