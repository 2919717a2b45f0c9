import { systemClock } from '../../../base/clock.ts';
import { printable } from '../../../base/printable.ts';
import type { BaseGate, CheckedBase } from '../../../protocol/base-gates.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { duration } from '../../render/quantities.ts';
import type { Cli } from '../cli.ts';
import { interruptible } from '../prompt/interruptible.ts';
import { shownWhile } from '../prompt/shown-while.ts';
import { folder } from './spawn.ts';

/**
 * Runs each gate once on what is committed. Ctrl-C skips what is left, as nothing that follows needs it; any other signal ends
 * the command.
 */
export async function checkBase(cli: Cli): Promise<CheckedBase | undefined> {
  const skip = new AbortController();
  let checked: CheckedBase | undefined;
  const work = async (ended: AbortSignal) => {
    checked = await steps(cli, AbortSignal.any([ended, skip.signal]));
    return 0;
  };
  try {
    const code = await interruptible(work, () => skip.abort(new ReefError('cancelled', 'Skipped')));
    if (code !== 0) throw new ReefError('cancelled', 'Interrupted');
    return checked;
  } catch (error) {
    if (!skip.signal.aborted) throw error;
    if (!cli.json) cli.out('  skipped: a run compares with what is committed when one of its gates fails');
    return undefined;
  }
}

async function steps(cli: Cli, signal: AbortSignal): Promise<CheckedBase> {
  const client = cli.client();
  const tell = (line: string) => cli.json || cli.out(line);
  tell(
    `\n${cli.style.paint('bold', 'Gates')}  on what is committed, before any change${cli.isInteractive ? '; Ctrl-C skips them' : ''}`,
  );
  const started = systemClock.monotonicMs();
  let checked = await shownWhile(cli, 'set-up', client.call('base_gates', folder(cli), { signal }));
  const all = checked.gates.length;
  const width = Math.max(6, ...checked.gates.map(({ gate }) => gate.length));
  const row = (name: string, words: string) => tell(`  ${name.padEnd(width)}  ${words}`);
  if (checked.notSetUp !== undefined) {
    row('set-up', cli.style.paint('red', 'failed, so no gate could run:'));
    tell(indented(checked.notSetUp));
    return checked;
  }
  if (checked.gates.some(({ result }) => result === 'not_run')) row('set-up', `done, ${since(started)}`);
  for (const [index, known] of checked.gates.entries()) {
    const begun = systemClock.monotonicMs();
    if (known.result === 'not_run') {
      const words = `${known.gate} (${index + 1} of ${all}): ${known.command.join(' ')}`;
      const input = { ...folder(cli), base: checked.commit, gate: known.gate };
      checked = await shownWhile(cli, words, client.call('base_gates', input, { signal }));
    }
    const said = checked.gates[index] ?? known;
    row(said.gate, `${verdictWords(cli, said)}, ${said.reused ? 'as before on the same files' : since(begun)}`);
    if (said.failures?.length === 0 && said.log !== undefined) tell(indented(said.log));
  }
  for (const line of meaning(checked)) tell(`  ${line}`);
  return checked;
}

const since = (start: number) => duration(systemClock.monotonicMs() - start);
const indented = (log: string) =>
  printable(log)
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');

const SHOWN = 5;

function verdictWords({ style }: Cli, { result, failures = [] }: BaseGate): string {
  if (result !== 'failed') return style.paint('green', 'passed');
  const rest = failures.length > SHOWN ? ` and ${failures.length - SHOWN} more` : '';
  const named = failures.length === 0 ? '' : `: ${printable(failures.slice(0, SHOWN).join(', '))}${rest}`;
  return style.paint('yellow', `already failing${named}`);
}

/** What becomes of it in a run. */
function meaning({ gates }: CheckedBase): string[] {
  const failed = gates.filter(({ result }) => result === 'failed');
  const isNamed = ({ failures = [] }: BaseGate) => failures.length > 0;
  const unnamed = failed.filter((gate) => !isNamed(gate)).map(({ gate }) => gate);
  return [
    ...(failed.some(isNamed)
      ? ['What fails already is shown as that in a run, and is not taken for the fault of an agent.']
      : []),
    ...(unnamed.length > 0
      ? [`Nothing in what ${unnamed.join(', ')} says names what failed, so a run takes it for the fault of its agent.`]
      : []),
  ];
}
