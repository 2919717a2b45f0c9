import type { ComponentChildren } from 'preact';
import { connection } from '../connection/connection.ts';
import { remembers } from '../connection/session.ts';
import { screens } from '../screens.tsx';
import { notifies, singleKeys } from '../store/settings.ts';
import { askToNotify } from '../store/tell.ts';
import { Dialog } from '../widgets/dialog.tsx';
import { closeDialog } from './keys.ts';

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ['Ctrl K', 'Find a screen, a task or a command'],
  ['n', 'New task'],
  ['q', 'Next question'],
  ['y · s · d', 'In a question: allow once, for this session, deny'],
  ['1 … 9', 'In a question: choose an option'],
  ['j · k', 'Down and up what is listed; Enter opens it'],
  ['/', 'Filter what is listed'],
  ['?', 'This help'],
];

export function Help() {
  const leads = screens.flatMap(({ rail, title }) => (rail ? [[`g ${rail.letter}`, title] as const] : []));
  return (
    <Dialog label="Keys and settings" onClose={() => closeDialog('help')}>
      <h2>Keys</h2>
      <dl class="keys">
        {[...KEYS, ...leads].map(([keys, does]) => (
          <div key={keys}>
            <dt>{keys}</dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <h2>Settings of this browser</h2>
      <ul class="settings">
        <Setting
          isOn={singleKeys.value}
          set={(isOn) => {
            singleKeys.value = isOn;
          }}
          title="Keys without Ctrl"
        >
          Off, only Ctrl K is left.
        </Setting>
        <Setting isOn={notifies.value} set={setNotifies} title="Notifications">
          Of questions and ends, while this tab is open and you look at another.
        </Setting>
        <Remember />
      </ul>
      <form method="dialog">
        <button type="submit" class="button plain">
          Close
        </button>
      </form>
    </Dialog>
  );
}

function setNotifies(isOn: boolean): void {
  if (isOn) void askToNotify();
  else notifies.value = false;
}

function Remember() {
  return (
    <Setting isOn={remembers()} set={(isOn) => connection.remember(isOn)} title="Stay signed in when this tab reloads">
      The key is then kept in the tab, where another server on the same port could read it.
    </Setting>
  );
}

interface SettingProps {
  title: string;
  isOn: boolean;
  set: (isOn: boolean) => void;
  children: ComponentChildren;
}

function Setting({ title, isOn, set, children }: SettingProps) {
  return (
    <li>
      <label>
        <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => set(currentTarget.checked)} />
        <span>
          <strong>{title}</strong>
          <span class="hint">{children}</span>
        </span>
      </label>
    </li>
  );
}
