#!/bin/sh
# Asks the hub, on the descriptors it gave us, whether this push may change these refs. Git undoes the push unless this ends well.
{
  n=0
  while [ "$n" -lt "${GIT_PUSH_OPTION_COUNT:-0}" ]; do
    eval "printf 'option %s\n' \"\$GIT_PUSH_OPTION_$n\""
    n=$((n + 1))
  done
  sed 's/^/ref /'
  echo end
} >&3
read -r answer <&4
[ "$answer" = ok ] && exit 0
echo "${answer:-the hub is gone}" >&2
exit 1
