# Sourced by stats/run, tests/run and bench/run: lists the Debian packages that they need, and installs them.

build_packages=(g++ cmake ninja-build ocl-icd-opencl-dev opencl-clhpp-headers nlohmann-json3-dev
  libssl-dev zlib1g-dev libcli11-dev libxlsxwriter-dev libyaml-dev libsqlite3-dev libhdf5-dev pocl-opencl-icd)
test_packages=(libgtest-dev libgmp-dev python3-numpy python3-torch clang-format-14 oclgrind libpython3-dev man-db zsh fish protobuf-compiler
  python3-onnx python3-h5py chromium-driver python3-selenium python3-protobuf python3-pyopencl
  libopenmpi-dev openmpi-bin python3-mpi4py parallel mold)
full_packages=(mypy libopencv-dnn-dev dpkg-dev file abigail-tools doxygen lintian pkg-config python3-venv python3-pip
  python3-setuptools python3-wheel libmpich-dev mpich python3-distributed python3-fsspec slurm-wlm)
fuzz_packages=(clang libclang-rt-dev)

# What is lost without a package. Every other package is needed.
declare -A lost_without=(
  [libxlsxwriter-dev]='the command writes no spreadsheets'
  [libyaml-dev]='the command reads no mapping files of msprobe'
  [libsqlite3-dev]='there is no store of runs'
  [libhdf5-dev]='.h5 files are not read'
  [pocl-opencl-icd]='everything is computed on the host, unless there is another OpenCL driver'
  [python3-torch]='the tests of watch skip'
  [clang-format-14]='formatted_test is left out; other versions lay some lines out otherwise'
  [oclgrind]='oclgrind_test skips, as does what other tests do with it'
  [libpython3-dev]='the Python package and its tests are left out'
  [man-db]='the tests of man pages skip'
  [zsh]='the tests of its completions skip'
  [fish]='the tests of its completions skip'
  [protobuf-compiler]='the tests of dump files and checkpoints that protoc writes skip'
  [python3-onnx]='python_onnx_test skips'
  [python3-h5py]='python_hdf5_test skips'
  [chromium-driver]='page_test and page_where_test skip'
  [python3-selenium]='page_test and page_where_test skip'
  [python3-protobuf]='the tests of event files skip'
  [python3-pyopencl]='python_pyopencl_test and planted_test skip'
  [libopenmpi-dev]='mpi_ranks is left out'
  [openmpi-bin]='mpi_ranks is left out'
  [python3-mpi4py]='the tests of mpi4py skip'
  [parallel]='the test of its script skips'
  [mold]='programs are linked by a slower linker'
  [mypy]='python_types_test skips'
  [libopencv-dnn-dev]='opencv_test and opencv_backend are left out'
  [dpkg-dev]='debian_packages_test skips'
  [file]='debian_packages_test skips'
  [abigail-tools]='abi_test skips'
  [doxygen]='reference_test skips'
  [lintian]='the packages are not looked at by lintian'
  [pkg-config]='package_test tries no pkg-config'
  [python3-venv]='wheel_test skips'
  [python3-pip]='wheel_test skips'
  [python3-setuptools]='wheel_test skips'
  [python3-wheel]='wheel_test skips'
  [libmpich-dev]='mpi_ranks_mpich is left out'
  [mpich]='mpi_ranks_mpich is left out'
  [python3-distributed]='python_dask_test skips'
  [python3-fsspec]='python_dask_test skips'
  [slurm-wlm]='the test of its script skips'
)

# Whether an OpenCL driver is there: a package of one, or a file of one's name whose library can be loaded. Debian's
# drivers exclude each other: to install pocl would remove ROCm's.
has_opencl_driver() {
  local file library
  ! dpkg-query -W -f='${db:Status-Status} ${Provides}\n' 2>/dev/null | grep -q '^installed .*opencl-icd' || return 0
  for file in "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/*.icd; do
    library=
    [[ ! -r $file ]] || read -r library <"$file" || true
    if [[ $library == */* ]]; then
      [[ ! -e $library ]] || return 0
    elif [[ $library ]] && ldconfig -p | grep -qF "$library"; then
      return 0
    fi
  done
  return 1
}

# Prints those of the named packages that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      { [[ $package == pocl-opencl-icd ]] && has_opencl_driver; } || echo "$package"
  done
}

# Prints those of the named packages that this system's sources have.
available_packages() {
  LC_ALL=C apt-cache policy "$@" 2>/dev/null | awk '/^[^ ]/ { name = $1; sub(/:$/, "", name) } /^  Candidate: [^(]/ { print name }'
}

# Says what is lost without the named packages. Fails if one of them is needed.
leave_out() { # WHY PACKAGE...
  local why=$1 package needed=()
  shift
  for package in "$@"; do
    if [[ ${lost_without[$package]-} ]]; then
      echo "Without $package, $why: ${lost_without[$package]}" >&2
    else
      needed+=("$package")
    fi
  done
  ((${#needed[@]} == 0)) || { echo "These packages are needed, $why: ${needed[*]}" >&2 && return 1; }
}

# Prints the libraries that Mesa's driver loads: command_devices_test unpacks that driver and installs it nowhere.
libraries_of_mesa() {
  LC_ALL=C apt-cache depends mesa-opencl-icd 2>/dev/null | sed -n 's/^  Depends: \(lib[a-z0-9.+-]*\)$/\1/p'
}

# Nothing is ever removed: apt-get fails instead.
apt_install() { DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-remove --no-install-recommends "$@" >&2; }

# Installs the missing ones among the named packages. What a test or a feature alone needs is left out if it cannot be
# installed. If another package cannot be, or this is not root, it says so and fails. Without apt it looks for the tools
# alone.
install_missing() {
  local missing available package tool unavailable=() wanted=()
  if ! command -v apt-get >/dev/null || [[ ! -e /var/lib/dpkg/status ]]; then
    for tool in cmake ninja c++; do
      command -v $tool >/dev/null || {
        echo 'This system has no apt. Needed are CMake 3.25, Ninja, GCC 12 or clang 14, and the headers of OpenCL with its C++ bindings, nlohmann-json, OpenSSL, zlib and CLI11; for tests GoogleTest and GMP' >&2
        return 1
      }
    done
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID == 0)) && [[ ! $(available_packages libc6) ]]; then # no lists yet
    apt-get update -q >&2 || true
  fi
  mapfile -t available < <(available_packages "${missing[@]}")
  for package in "${missing[@]}"; do
    if [[ " ${available[*]} " == *" $package "* ]]; then wanted+=("$package"); else unavailable+=("$package"); fi
  done
  leave_out 'which this system does not have' "${unavailable[@]}" || return 1
  ((${#wanted[@]})) || return 0
  if ((EUID != 0)); then
    echo "Installing packages needs root:" >&2
    echo "  apt-get install --no-remove ${wanted[*]}" >&2
    leave_out 'which is not installed' "${wanted[@]}"
    return
  fi
  echo "Installing ${wanted[*]}" >&2
  apt-get update -q >&2 || true
  apt_install "${wanted[@]}" || install_singly "${wanted[@]}"
}

# One package may be what apt-get refuses the others for.
install_singly() {
  local package refused=()
  for package in "$@"; do
    apt_install "$package" || refused+=("$package")
  done
  leave_out 'which apt-get did not install' "${refused[@]}"
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
