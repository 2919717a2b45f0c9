// Old Nodes must be able to parse this file: it is what tells them that they are too old.
const [major, minor] = process.version.slice(1).split('.').map(Number);
const isTooOld = major < 22 || (major === 22 && minor < 18);

function refuse() {
  process.stderr.write(`reef needs Node 22.18 or newer, this is ${process.version}.
  in this repository    npm rebuild node          fetches the pinned Node 24 (its install script must be allowed)
  without scripts       npm i --no-save node-linux-${process.arch}@24.21.0
  elsewhere             install Node 22.18 or newer and repeat the command
`);
  process.exit(69);
}

// As a script it opens every npm command, so its first line names the Node that runs it; bin/reef.cjs decides for itself.
if (require.main === module) {
  if (isTooOld) refuse();
  process.stdout.write(`node ${process.version}\n`);
}

module.exports = { isTooOld, refuse };
