# Runs one job to its end and outlives everything but itself being killed:
#   sh wrapper.sh reef-job TAG DIR BOOT_ID INPUT TOOLS_PATH COMMAND...
# Leaves DIR/pid before COMMAND starts, a line in DIR/begun right before it becomes the agent, and DIR/exit after the last process of its tree has ended.
# All of it is one function: a shell reads its script while it runs, and the file may be replaced by an update.

started() {
  if read -r stat 2>/dev/null </proc/$$/stat; then
    set -f
    set -- ${stat##*) } # the name in parentheses may hold blanks; the start time is field 22 of all, 20 of the rest
    echo "${20}"
  else
    set -- $(TZ=UTC LC_ALL=C ps -o lstart= -p $$)
    echo "$*"
  fi
}

# A hard link fails if the name is taken: whoever gives the launch up takes it first, and then nothing starts.
write_identity() {
  printf '{"pid":%s,"startTime":"%s","bootId":"%s"}\n' $$ "$(started)" "$boot" >"$dir/pid.new" || return 1
  ln "$dir/pid.new" "$dir/pid" || return 1
  rm -f "$dir/pid.new"
}

# A namespace's first process stays in our session and is no zombie before its namespace is empty; so waiting for the session
# is waiting for the namespace. The tag finds those that left the session where there is no namespace.
# Fails when nothing is left. Our own helpers are in our own group.
end_remains() {
  found=1
  for file in $(grep -lsE "\\) [^ZX] [0-9]+ [0-9]+ $$ " /proc/[0-9]*/stat); do
    read -r stat 2>/dev/null <"$file" || continue
    set -- ${stat##*) }
    [ "$4" = $$ ] && [ "$3" != $$ ] || continue
    found=0
    kill_at "$file"
  done
  for file in $(grep -lszxF "REEF_JOB=$tag" /proc/[0-9]*/environ); do
    found=0
    kill_at "$file"
  done
  return $found
}

kill_at() {
  pid=${1#/proc/}
  kill -KILL "${pid%/*}"
}

write_exit() {
  at=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)
  case $at in *[N%]*) at=${at%%.*}Z ;; esac # not every date knows milliseconds
  printf '{"code":%s,"at":"%s"}\n' "$1" "$at" >"$dir/exit.new" && mv -f "$dir/exit.new" "$dir/exit"
}

main() {
  trap : TERM INT HUP # handlers: what is merely ignored here would be ignored by the agent too
  tag=$2 dir=$3 boot=$4 input=$5 tools=$6
  shift 6
  mask=$(umask)
  umask 077
  agent_path=$PATH
  PATH=$tools

  exec 3<>"$input" # open before anybody hears of us, or what is written early is lost
  write_identity || exit 125
  exec >/dev/null 2>&1 # the launcher waits for the end of our output

  (
    umask "$mask"
    export PATH="$agent_path" REEF_JOB="$tag"
    exec "$@"
  ) <&3 3<&- >>"$dir/out" 2>>"$dir/err" 4>>"$dir/begun"
  code=$?

  tries=0
  while end_remains && [ $tries -lt 100 ]; do
    tries=$((tries + 1))
    sleep 0.05
  done
  write_exit "$code"
  exit "$code"
}

main "$@"
