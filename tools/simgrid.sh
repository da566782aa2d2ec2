# Part of ./dev: SimGrid, a peer in ./dev bench fabric.

# Unpacks it into build/simgrid. It is not installed, since its -dev package wants an older Boost than ours;
# what it needs itself lies beside it.
unpack_simgrid() {
  local folder=build/simgrid
  [[ -e $folder/complete ]] && return
  say "unpacking SimGrid from Debian into $folder"
  mkdir -p "$folder/packages"
  if ! (cd "$folder/packages" && apt-get download -qq -o APT::Sandbox::User=root libsimgrid-dev libsimgrid3.32 \
    libboost-context1.74.0 libboost-stacktrace1.74.0 libns3.37 libgsl27 libgslcblas0 libgfortran5); then
    echo "SimGrid could not be fetched: the benchmarks run without it" >&2
    return
  fi
  local package
  for package in "$folder"/packages/*.deb; do dpkg -x "$package" "$folder"; done
  touch "$folder/complete"
}
