# Scripts made for argc end in `eval "$(argc --argc-eval "$0" "$@")"`, which would call a function of theirs. The arguments
# are in the environment already, so our argc has nothing left to do but to name that function.
argc() { if [ "$1" = --argc-eval ]; then echo 'if declare -F "$REEF_FUNCTION" >/dev/null; then "$REEF_FUNCTION"; fi'; fi; }
# Scripts ask tput for colours. Without a terminal it fails, which under `set -e` would end them.
tput() { command tput "$@" 2>/dev/null || :; }
for reef_list in $REEF_LISTS; do
  reef_values="$reef_list"
  IFS=$'\n' read -r -d '' -a "$reef_list" <<< "${!reef_values}" || :
done
unset reef_list reef_values
reef_file="$1"; shift
. "$reef_file"
# A script that argc has built calls its function itself, by its arguments.
if ! grep -q -e --argc-eval -e '^_argc_run "$@"' "$reef_file" && declare -F "$REEF_FUNCTION" >/dev/null; then "$REEF_FUNCTION"; fi
