#!/usr/bin/env bash
# Sourced by tests/run: builds and tests the project in a Debian of its own, as a newcomer would. The Debian is a folder
# below the user's cache, made by debootstrap once. All that is mounted is mounted in a namespace of its own, and all that
# runs there ends with tests/run.
#
# debian.sh inside SUITE FOLDER TREE [--fetch | ctest arguments]: what runs in that namespace.
set -euo pipefail

not_checked=75 # the exit status where nothing of the project was tried: the mirror does not answer, or mounts are forbidden

# Prints the mirror of Debian that this system takes its own packages from; nothing if it has none.
debian_mirror() { # [ETC]
  local etc=${1:-/etc} ID='' VERSION_CODENAME=''
  [[ ! -r $etc/os-release ]] || source "$etc/os-release"
  [[ $ID == debian ]] || return 0
  # apt's two formats: one line each, and paragraphs of fields.
  {
    sed -n 's/^ *deb  *\(\[[^]]*\]  *\)\{0,1\}\([^ ]*\)  *\([^ ]*\)  *.*/\2 \3/p' "$etc/apt/sources.list" "$etc"/apt/sources.list.d/*.list 2>/dev/null || true
    awk 'function flush() { if (types ~ /deb( |$)/ && enabled != "no") for (s = split(suites, each, " "); s > 0; --s) print uri, each[s]; types = uri = suites = enabled = "" }
         /^[ \t]*$/ || FNR == 1 { flush() }
         /^Types:/ { types = $0 } /^URIs:/ { uri = $2 } /^Enabled:/ { enabled = $2 } /^Suites:/ { suites = substr($0, 8) }
         END { flush() }' "$etc"/apt/sources.list.d/*.sources 2>/dev/null || true
  } | awk -v codename="$VERSION_CODENAME" '$1 ~ /^https?:/ && ($2 == codename || $2 ~ /^(oldstable|stable|testing|unstable|sid)$/) { print $1; exit }'
}

# Runs a command three times at most.
few_tries() {
  local try
  for try in 1 2 3; do
    "$@" && return 0
    ((try == 3)) || sleep $((try * 15))
  done
  return 1
}

say() { echo "tests/run: $*" >&2; }

give_up() { # WHY
  say "$suite was not checked: $1"
  exit $not_checked
}

# A folder that debootstrap has left before its end is made anew.
make_debian() {
  if [[ -e $folder/debootstrap || ! -x $folder/usr/bin/apt-get || ! -e $folder/var/lib/dpkg/status ]]; then
    local mirror new=$folder.new
    mirror=$(debian_mirror)
    say "making $folder by debootstrap${mirror:+ from $mirror}"
    try_debootstrap() {
      rm -rf --one-file-system "$new"
      mkdir -p "$new"
      debootstrap --variant=minbase --include=ca-certificates "$suite" "$new" $mirror >&2
    }
    few_tries try_debootstrap || give_up "debootstrap has failed"
    rm -rf --one-file-system "$folder"
    mv "$new" "$folder"
  fi
}

in_debian() { # COMMAND...
  local variables=(HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin) name
  for name in http_proxy https_proxy no_proxy; do
    [[ ! ${!name-} ]] || variables+=("$name=${!name}")
  done
  chroot "$folder" /usr/bin/env -i "${variables[@]}" DEBIAN_FRONTEND=noninteractive "$@"
}

# What the project and its tests need is fetched first. So a mirror that does not answer is told from a fault of the project.
fetch_packages() {
  in_debian bash -c 'cd /root/tensorstat && source stats/packages.sh
    wanted() { available_packages libc6 $(missing_packages "${build_packages[@]}" "${test_packages[@]}"); }
    [[ $(wanted) != libc6 ]] || exit 0 # apt has lists, and nothing is missing
    apt-get update -q && apt-get install -q -y --no-remove --no-install-recommends --download-only $(wanted)'
}

# The tree as it lies there, without what git ignores.
copy_tree() { # TREE TO
  rm -rf --one-file-system "$2"
  mkdir "$2"
  if git -c safe.directory='*' -C "$1" rev-parse --git-dir >/dev/null 2>&1; then
    git -c safe.directory='*' -C "$1" ls-files -z --cached --others --exclude-standard
  else
    (cd "$1" && find . -path './.build*' -prune -o -type f -print0 -o -type l -print0)
  fi | (cd "$1" && tar -c -f - --no-recursion --ignore-failed-read --null --files-from=-) | tar -x -f - --no-same-owner -C "$2"
}

run_inside() { # SUITE FOLDER TREE [--fetch | ctest arguments]
  suite=$1 folder=$2
  local tree=$3 seconds=$SECONDS
  shift 3
  umask 022
  [[ ${http_proxy-} ]] || eval "$(apt-config shell http_proxy Acquire::http::Proxy)" # debootstrap's wget wants it
  export http_proxy TMPDIR=/tmp
  make_debian
  for each in dev sys; do mount --rbind "/$each" "$folder/$each"; done
  mount -t proc proc "$folder/proc"
  cp -L /etc/resolv.conf /etc/hosts "$folder/etc/" 2>/dev/null || true
  trap 'rm -rf --one-file-system "$folder/root/tensorstat"' EXIT
  copy_tree "$tree" "$folder/root/tensorstat"
  in_debian dpkg --configure -a >&2 # if an installation was ended before
  few_tries fetch_packages >&2 || give_up "its packages cannot be fetched"
  say "$suite: packages fetched in $((SECONDS - seconds)) s"
  [[ ${1-} != --fetch ]] || return 0
  local failed=
  in_debian bash -c 'cd /root/tensorstat && ./stats/run' </dev/null || failed='./stats/run'
  in_debian apt-get clean
  in_debian bash -c 'cd /root/tensorstat && ./tests/run "$@"' tests/run "$@" </dev/null || failed="${failed:+$failed and }./tests/run"
  if [[ $failed ]]; then
    say "$suite: $failed failed"
    exit 1
  fi
  say "$suite: ./stats/run and ./tests/run passed"
}

run_debian() { # ROOT SUITE [--fetch | ctest arguments]
  local root=$1 suite=$2 cache=${XDG_CACHE_HOME:-$HOME/.cache}/tensorstat/debian
  shift 2
  ((EUID == 0)) || give_up 'debootstrap and chroot need root'
  install_missing debootstrap || give_up 'there is no debootstrap'
  unshare --mount --pid --fork true 2>/dev/null || give_up 'this machine allows no namespace for its mounts'
  mkdir -p "$cache"
  exec 8>"$cache/$suite.lock"
  flock 8 # another run in the same Debian
  # The namespace ends with its first process, and that one with this process.
  setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc \
    bash "$root/tests/support/debian.sh" inside "$suite" "$cache/$suite" "$root" "$@" 8>&- &
  local child=$!
  trap "kill -KILL $child 2>/dev/null; exit 130" INT TERM HUP
  wait $child
}

[[ ${1-} != inside ]] || { shift && run_inside "$@"; }
