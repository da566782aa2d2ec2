# Part of ./dev: runs the parts of a test run, one after the other or beside others, and keeps a table of them.
# What a part prints also goes to a file of its own below build/parts.

part_names=() part_results=() part_seconds=() part_cpu=()

part_log() { echo "build/parts/${1//[^a-z]/-}.log"; }

# Seconds of CPU that the ended children of this shell took.
children_cpu() {
  local stat
  read -r -a stat <"/proc/$BASHPID/stat"
  cpu=$(((stat[15] + stat[16]) / $(getconf CLK_TCK)))
}

# part NAME [after OTHER] COMMAND...: runs it, unless the part OTHER did not pass.
part() {
  local name=$1 needed="" start=$SECONDS result=passed cpu cpu_before i
  shift
  if [[ $1 == after ]]; then
    needed=$2
    shift 2
  fi
  children_cpu
  cpu_before=$cpu
  for i in "${!part_names[@]}"; do
    [[ ${part_names[i]} == "$needed" && ${part_results[i]} != passed ]] && result=skipped
  done
  say "$name"
  if [[ $result == skipped ]]; then
    echo "skipped, since '$needed' did not pass"
  else
    # In a subshell of its own, since set -e is off inside a function that is tested.
    set +e
    mkdir -p build/parts
    (set -e; "$@") </dev/null 2>&1 | tee "$(part_log "$name")"
    [[ ${PIPESTATUS[0]} == 0 ]] || result=FAILED
    set -e
  fi
  children_cpu
  part_names+=("$name")
  part_cpu+=($((cpu - cpu_before)))
  part_results+=("$result")
  part_seconds+=($((SECONDS - start)))
}

# beside FUNCTION: the parts of that function, one after the other, while those that follow run; with lower
# priority, so that these hardly notice. For parts whose results do not depend on how long they take.
beside() {
  mkdir -p build/parts
  (
    first=${#part_names[@]}
    renice -n 15 -p "$BASHPID" >/dev/null
    "$1"
    part_names=("${part_names[@]:first}") part_results=("${part_results[@]:first}")
    part_seconds=("${part_seconds[@]:first}") part_cpu=("${part_cpu[@]:first}")
    declare -p part_names part_results part_seconds part_cpu >build/parts/beside
  ) >build/parts/beside.log 2>&1 &
  beside_pid=$!
}

# Waits for the parts beside, shows what they printed and puts them into the table.
joined() {
  local names=("${part_names[@]}") results=("${part_results[@]}")
  local seconds=("${part_seconds[@]}") cpus=("${part_cpu[@]}") ended=0
  say "what ran beside"
  wait "$beside_pid" || ended=$?
  cat build/parts/beside.log
  [[ $ended == 0 ]] || die "what ran beside ended with $ended"
  # shellcheck source=/dev/null
  source <(sed 's/^declare -a/declare -g -a/' build/parts/beside)
  part_names=("${names[@]}" "${part_names[@]}") part_results=("${results[@]}" "${part_results[@]}")
  part_seconds=("${seconds[@]}" "${part_seconds[@]}") part_cpu=("${cpus[@]}" "${part_cpu[@]}")
}

# The lines of a failed part that say most: which tests, which reports, and how it ended.
why_it_failed() {
  local log
  log=$(part_log "$1")
  say "why '$1' failed ($log)"
  grep -nE '\[  FAILED  \]|^(FAIL|ERROR): |: Failure$|ERROR: .*Sanitizer|WARNING: ThreadSanitizer|: error:|runtime error' \
    "$log" | cut -c -200 | head -n 12 || true
  tail -n 12 "$log" | cut -c -200
}

# Prints the table; fails if a part did not pass.
parts_table() {
  local i failed=() cpu
  say "parts"
  for i in "${!part_names[@]}"; do
    printf '%-24s %-8s %5d s %5d s of CPU\n' "${part_names[i]}" "${part_results[i]}" \
      "${part_seconds[i]}" "${part_cpu[i]}"
    [[ ${part_results[i]} == passed ]] || failed+=("${part_names[i]}")
  done
  children_cpu
  printf '%-24s %-8s %5d s %5d s of CPU\n' total "" "$SECONDS" "$cpu"
  if [[ ${#failed[@]} != 0 ]]; then
    for i in "${!part_names[@]}"; do
      [[ ${part_results[i]} != FAILED ]] || why_it_failed "${part_names[i]}"
    done
    printf 'FAILED: %s\n' "$(printf '%s, ' "${failed[@]}" | sed 's/, $//')"
    return 1
  fi
  echo "all parts passed"
}
