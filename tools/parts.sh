# Part of ./dev: runs the parts of a test run one after the other and keeps a table of them. What a part
# prints also goes to a file of its own below build/parts.

part_names=() part_results=() part_seconds=() part_cpu=()

part_log() { echo "build/parts/${1//[^a-z]/-}.log"; }

# Seconds of CPU that the ended children of this shell took.
children_cpu() {
  local stat
  read -r -a stat <"/proc/$$/stat"
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
