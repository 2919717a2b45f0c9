import { Command } from '../widgets/command.tsx';
import { Mark } from './mark.tsx';

export function SignedOut() {
  return (
    <main class="signed-out">
      <Mark />
      <h1>Signed out</h1>
      <p>
        This tab has no key to your Reef: its code was used already or is older than a minute, the tab was loaded anew,
        or its log-in is over. One command in the repository prints a fresh address.
      </p>
      <Command text="reef open" />
      <p class="hint">What you wrote in this tab is kept: open the address here, and it is there again.</p>
    </main>
  );
}
