import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { defined } from '../../base/defined.ts';
import { readEnvironment } from '../../base/env.ts';
import { toReefError } from '../../protocol/errors.ts';
import { ReefConnection } from './connection.ts';
import type { OutputLine } from './lines.ts';
import { parseScript, type Script, type Step } from './script.ts';
import { Failure, playSteps, type Stage } from './steps.ts';

/**
 * `node scripted-agent.ts SCRIPT --session ID | --resume ID`: plays a script as an agent on the reef protocol. The first message is
 * the task; every message begins a turn. Exits with 2 when the script is not one.
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { session: { type: 'string' }, resume: { type: 'string' }, model: { type: 'string' } },
});
const script = readScript(positionals[0] ?? '');
if (script) await play(script);

function readScript(file: string): Script | undefined {
  try {
    return parseScript(readFileSync(file, 'utf8'));
  } catch (error) {
    process.stderr.write(`script_invalid: ${toReefError(error).message}\n`);
    process.exitCode = 2;
    return undefined;
  }
}

async function play(script: Script): Promise<void> {
  process.stdout.on('error', () => process.exit(1)); // nobody listens any more
  let lastId = 0;
  const stage: Stage = {
    talk: new ReefConnection(process.stdin, process.stdout),
    cwd: process.cwd(),
    env: defined(readEnvironment().all) as Record<string, string>,
    variables: new Map(),
    said: '',
    nextId: () => ++lastId,
  };
  const sessionId = values.resume ?? values.session ?? 'scripted';
  stage.talk.write({ do: 'session', sessionId, ...defined({ model: values.model }), cwd: stage.cwd });
  for (let turn = 1; ; turn++) {
    const message = await stage.talk.nextMessage();
    if (message === undefined) process.exit(0);
    stage.variables.set('message', message);
    if (turn === 1) stage.variables.set('task', message);
    stage.said = '';
    const signal = stage.talk.beginTurn();
    stage.talk.endTurn(await outcome(stepsFor(script, turn), stage, signal));
  }
}

function stepsFor({ steps, onMessage, onResume }: Script, turn: number): Step[] {
  const other = onMessage ?? [{ do: 'say', with: 'ok: {message}' } as const];
  if (turn > 1) return other;
  return values.resume === undefined ? steps : (onResume ?? other);
}

async function outcome(steps: Step[], stage: Stage, signal: AbortSignal): Promise<Extract<OutputLine, { do: 'turn' }>> {
  try {
    await playSteps(steps, stage, signal);
    return { do: 'turn', is: 'over', outcome: 'done', result: stage.said };
  } catch (error) {
    if (error instanceof Failure) return error.turn;
    if (!signal.aborted) throw error;
    return { do: 'turn', is: 'over', outcome: 'interrupted', result: stage.said };
  }
}
