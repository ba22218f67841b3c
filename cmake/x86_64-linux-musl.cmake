# Static programs for Linux with the C library musl, as on Alpine: compiled by the package ziglang, which contains clang,
# musl and the C++ library. They run on every Linux system.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_CXX_COMPILER "${CMAKE_CURRENT_LIST_DIR}/../.venv/bin/python" -m ziglang c++)
set(CMAKE_CXX_COMPILER_TARGET x86_64-linux-musl)
