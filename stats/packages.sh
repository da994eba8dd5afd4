# Sourced by stats/run, tests/run and bench/run: lists the Debian packages that they need, and installs them.

build_packages=(g++ cmake ninja-build ocl-icd-opencl-dev opencl-clhpp-headers nlohmann-json3-dev
  libssl-dev zlib1g-dev libcli11-dev libxlsxwriter-dev libyaml-dev libsqlite3-dev libhdf5-dev pocl-opencl-icd)
test_packages=(libgtest-dev python3-numpy python3-torch clang-format oclgrind libgmp-dev libpython3-dev man-db zsh fish protobuf-compiler
  python3-onnx python3-h5py chromium-driver python3-selenium python3-protobuf python3-pyopencl
  libopenmpi-dev openmpi-bin python3-mpi4py parallel)  # these four: ranks, and the scripts of examples/trees
full_packages=(mypy libopencv-dnn-dev dpkg-dev file abigail-tools doxygen lintian pkg-config python3-venv python3-pip
  python3-setuptools python3-wheel
  libmpich-dev mpich python3-distributed python3-fsspec slurm-wlm  # these: ranks and trees on other engines
  libclc-15 libllvmspirvlib15)  # these: what Mesa's rusticl loads
fuzz_packages=(clang libclang-rt-14-dev)

# Installs the missing ones among the named packages. If it may not, it prints their names and fails. On a system
# without dpkg it assumes that they are installed.
install_missing() {
  command -v dpkg-query >/dev/null || return 0
  local package missing=()
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    echo "These packages are missing, and installing them needs root:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    return 1
  fi
  echo "Installing ${missing[*]}" >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q && apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# build ROOT TARGETS [CMAKE_OPTION...]: builds the targets, with spaces between them, in ROOT/.build, or in the folder that
# build_folder names. A lock makes concurrent calls wait for each other.
build() {
  local root=$1 targets=$2 folder=$1/${build_folder:-.build}
  shift 2
  mkdir -p "$folder"
  (
    flock 9
    if (($#)) || [[ ! -e $folder/build.ninja ]]; then
      cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTENSORSTAT_QUICK=ON "$@"
    fi
    # Leave out the messages of an up-to-date build: stderr may go to a log.
    # shellcheck disable=SC2086 # one word each
    cmake --build "$folder" --target $targets |
      { grep -v -e '^ninja: no work to do' -e 'Re-checking globbed directories' || true; }
  ) 9>"$folder/.lock"
}
