# The terminal of a headful job: a tmux server of its own, within the job's tree, so that either ends with the other.
#   sh terminal.sh open_terminal DIR TMUX ARGUMENT...  starts the server and stays until the agent has ended, with its code
#   sh terminal.sh run_in_pane DIR COMMAND...          what the server runs: the agent, and then the word that it ended
# The two talk through the FIFO DIR/code, which also the recorder of the screen holds open: it ends when all is written down.
# The functions use no program but those they are given: PATH is the agent's.

# The FIFO is open both ways until the pane has spoken, so that opening never waits; then its end is the pane's.
open_terminal() {
  cd "$1" || exit 125 # the path of a socket is short: the server's is told relative to this folder
  shift
  exec 8<>code
  "$@" 8<&- || exit 125
  until read -r pane <&8; do :; done
  trap 'trap "" TERM; kill -TERM "-$pane"' TERM
  echo >>open
  exec 8<code
  read -r code <&8 || read -r code <&8 # a signal ends a read as well
  read -r end <&8
  exit "${code:-129}" # without a code, somebody closed the terminal
}

# Deaf but for SIGHUP, which ends it when the terminal is closed; the kernel then passes that on to the agent.
run_in_pane() {
  exec 9>"$1/code"
  shift
  trap : TERM INT QUIT
  unset TMUX TMUX_PANE OLDPWD # an agent that knew would open windows of its own
  echo $$ >&9
  "$@" 9>&-
  echo $? >&9
}

"$@"; exit
