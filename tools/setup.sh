# Part of ./dev: the packages of tools/packages.txt.

packages() { grep -v '^#' tools/packages.txt; }

missing_packages() {
  local name why
  while read -r name why; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
      printf '%-22s %s\n' "$name" "$why"
  done < <(packages)
}

is_debian_12() { (. /etc/os-release && [[ $ID == debian && $VERSION_ID == 12 ]]) 2>/dev/null; }

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif [[ -t 0 ]]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

# Installs what is missing. Silent when nothing is.
setup() {
  [[ ${LARDER_SKIP_SETUP:-} == 1 ]] && return
  if ! is_debian_12; then
    echo "Larder is built and tested on Debian 12. Elsewhere, install these (names as in Debian):"
    packages | sed 's/^/  /'
    die "then run with LARDER_SKIP_SETUP=1"
  fi
  local missing names
  missing=$(missing_packages)
  [[ -z $missing ]] && return
  names=$(awk '{print $1}' <<<"$missing" | xargs)
  say "installing from Debian:"
  sed 's/^/  /' <<<"$missing"
  if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
    die "this needs root, and there is no sudo. As root: apt-get install $names"
  fi
  # shellcheck disable=SC2086  # names is a list
  as_root apt-get update -qq </dev/null
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o DPkg::Lock::Timeout=300 $names </dev/null || die "apt-get could not install: $names"
}
