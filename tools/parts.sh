# Part of ./dev: runs the parts of a test run one after the other and keeps a table of them.

part_names=() part_results=() part_seconds=()

# part NAME [after OTHER] COMMAND...: runs it, unless the part OTHER did not pass.
part() {
  local name=$1 needed="" start result i
  shift
  if [[ $1 == after ]]; then
    needed=$2
    shift 2
  fi
  start=$SECONDS
  result=passed
  for i in "${!part_names[@]}"; do
    [[ ${part_names[i]} == "$needed" && ${part_results[i]} != passed ]] && result=skipped
  done
  say "$name"
  if [[ $result == skipped ]]; then
    echo "skipped, since '$needed' did not pass"
  else
    # In a subshell of its own, since set -e is off inside a function that is tested.
    set +e
    (set -e; "$@") </dev/null
    [[ $? == 0 ]] || result=FAILED
    set -e
  fi
  part_names+=("$name")
  part_results+=("$result")
  part_seconds+=($((SECONDS - start)))
}

# Prints the table; fails if a part did not pass.
parts_table() {
  local i failed=()
  say "parts"
  for i in "${!part_names[@]}"; do
    printf '%-24s %-8s %5d s\n' "${part_names[i]}" "${part_results[i]}" "${part_seconds[i]}"
    [[ ${part_results[i]} == passed ]] || failed+=("${part_names[i]}")
  done
  printf '%-24s %-8s %5d s\n' total "" "$SECONDS"
  if [[ ${#failed[@]} != 0 ]]; then
    printf 'FAILED: %s\n' "$(printf '%s, ' "${failed[@]}" | sed 's/, $//')"
    return 1
  fi
  echo "all parts passed"
}
