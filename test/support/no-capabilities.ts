import type { Capabilities } from '../../src/process/capabilities.ts';

/** What a machine with none of the tools can do. */
export const noCapabilities: Capabilities = {
  namespaces: 'none',
  unshare: undefined,
  isolatesNetwork: false,
  bubblewrap: undefined,
  sandboxesNetwork: false,
  setpriv: undefined,
  prlimit: undefined,
  timeout: undefined,
  perl: undefined,
  tmux: undefined,
};
