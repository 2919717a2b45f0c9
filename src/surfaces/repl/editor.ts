import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runForeground } from '../../process/foreground.ts';
import { ReefError } from '../../protocol/errors.ts';
import { editor } from '../../runtime/config/readers.ts';
import type { AppState } from '../../runtime/state/app-state.ts';
import type { Cli } from '../cli/cli.ts';
import type { Terminal } from './terminal.ts';

/** The user's editor on a file, at this terminal. */
export async function editFile(file: string, { app, cli, terminal }: Editing): Promise<void> {
  const [program = '', ...args] = editor(app.config, app.environment).split(/\s+/);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const spec = { file: program, args: [...args, file], cwd: cli.cwd, env: cli.env.all };
  const code = await terminal.lent(() => runForeground(spec));
  if (code !== 0) throw new ReefError('invalid_state', `${program} ended with ${code}: nothing was changed`);
}

interface Editing {
  app: AppState;
  cli: Cli;
  terminal: Terminal;
}

/** A text, after it was edited. */
export async function editText(text: string, editing: Editing): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reef-edit-'));
  const file = join(folder, 'question.md');
  try {
    await writeFile(file, text, { mode: 0o600 });
    await editFile(file, editing);
    return (await readFile(file, 'utf8')).trimEnd();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
