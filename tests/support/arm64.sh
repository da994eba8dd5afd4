# Sourced by tests/run: builds for arm64 with Debian's cross compiler and libraries, and runs the tests under QEMU.

arm64_folder=.build-arm64
arm64_rooms='numbers|host|meter|files|rows|dump|cli|compare|origin|findings|c|store|fuzz|python|packages'
arm64_packages=(g++-aarch64-linux-gnu qemu-user-static binfmt-support dpkg-dev file python3-pip python3-setuptools python3-wheel)
arm64_libraries=(libgtest-dev libgmp-dev libpython3-dev python3 python3-numpy) # and those that every build needs

# Entries that mean nothing under QEMU, and why.
not_under_qemu=(
  'thread_signals_test: counts the threads of the process, and QEMU has one of its own'
)

# Fetches packages for arm64, with everything that they depend on, and unpacks them in FOLDER/sysroot. apt keeps its
# lists of arm64 in FOLDER, so this machine's packages stay as they are, and nothing here needs root.
unpack_arm64() { # FOLDER PACKAGE...
  local folder=$1 sysroot=$1/sysroot deb file library link to
  shift
  [[ ! -e $sysroot/.packages || $(<"$sysroot/.packages") != "$*" ]] || return 0
  command -v apt-get >/dev/null || { echo "tests/run: --arch needs apt-get, because it uses Debian's packages" >&2 && return 1; }
  rm -rf "$sysroot" "$folder/apt"
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial" "$sysroot"/usr/{bin,lib,sbin}
  touch "$folder/apt/status"
  cat >"$folder/apt/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
Dir::State "$folder/apt";
Dir::State::status "$folder/apt/status";
Dir::State::lists "$folder/apt/lists";
Dir::Cache "$folder/apt";
CONF
  (
    export APT_CONFIG=$folder/apt/apt.conf
    apt-get update -q
    apt-get install -q -y --download-only "$@"
  )
  ln -s usr/bin usr/lib usr/sbin "$sysroot"
  # dpkg-shlibdeps takes the sysroot for a package that is being built, and finds in its DEBIAN which package each library
  # is of.
  mkdir "$sysroot/DEBIAN"
  for deb in "$folder"/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$sysroot" --keep-directory-symlink --no-same-owner
    for file in shlibs symbols; do
      dpkg-deb --info "$deb" "$file" 2>/dev/null >>"$sysroot/DEBIAN/$file" || true
    done
  done
  for library in blas lapack; do # no maintainer script has run: these links are theirs
    ln -s "$library/lib$library.so.3" "$sysroot/usr/lib/aarch64-linux-gnu/lib$library.so.3"
  done
  while IFS=' ' read -r link to; do # absolute links would lead out of the sysroot
    ln -sfnr "$sysroot$to" "$link"
  done < <(find "$sysroot" -type l -lname '/*' -printf '%p %l\n')
  echo "$*" >"$sysroot/.packages"
}

# The kernel starts programs of arm64 through QEMU, also those that a test or a build starts.
start_through_qemu() {
  [[ $(uname -m) != aarch64 && ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]] || return 0
  update-binfmts --enable qemu-aarch64 && [[ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]] || {
    echo 'tests/run: the kernel does not start programs of arm64 through QEMU.' >&2
    echo '  As root, once after each start of the machine: update-binfmts --enable qemu-aarch64' >&2
    return 1
  }
}

run_arm64() { # ROOT [ctest arguments]
  local root=$1 folder=$1/$arm64_folder libraries=("${arm64_libraries[@]}") package left_out
  shift
  install_missing "${arm64_packages[@]}"
  for package in "${build_packages[@]}"; do
    [[ $package != *-dev && $package != *-headers ]] || libraries+=("$package")
  done
  unpack_arm64 "$folder" "${libraries[@]}"
  start_through_qemu
  export QEMU_LD_PREFIX=$folder/sysroot TENSORSTAT_NO_DEVICE=1

  phase build
  build "$root" 'written_partials tensorstat_command tensorstat_python' -DTENSORSTAT_TESTS=ON
  build_folder=$arm64_folder build "$root" "all written_partials" -DTENSORSTAT_TESTS=ON \
    -DCMAKE_TOOLCHAIN_FILE="$root/tests/support/arm64.cmake" -DTENSORSTAT_NATIVE_BUILD="$root/.build"

  phase tests
  echo 'tests/run: left out, because under QEMU they mean nothing:' >&2
  printf '  %s\n' "${not_under_qemu[@]}" >&2
  left_out=$(printf '%s|' "${not_under_qemu[@]%%:*}")
  run_tests "$arm64_folder" --label-regex "^($arm64_rooms)\$" --exclude-regex "^(${left_out%|})\$" "$@"
}
