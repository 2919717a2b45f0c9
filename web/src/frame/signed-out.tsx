import { Command } from '../widgets/command.tsx';
import { Mark } from './mark.tsx';

export function SignedOut() {
  return (
    <main class="signed-out">
      <Mark />
      <h1>Signed out</h1>
      <p>
        This tab has no key to your Reef: its code was used already, is older than a minute, or the tab was loaded anew.
        One command in the repository opens a fresh one.
      </p>
      <Command text="reef open" />
    </main>
  );
}
