import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { allowedEnv } from '../../../process/environment.ts';
import { runForeground } from '../../../process/foreground.ts';
import { run } from '../../../process/run.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { AppState } from '../../../runtime/state/app-state.ts';
import type { Cli } from '../cli.ts';
import type { ChatTerminal } from './chat-terminal.ts';

/** Opens a file in the user's editor, at this terminal. */
export async function editFile(file: string, { app, cli, terminal }: Editing): Promise<void> {
  const [program = '', ...args] = editorOf(app).split(/\s+/);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const spec = { file: program, args: [...args, file], cwd: cli.cwd, env: cli.env.all };
  const code = await terminal.lent(() => runForeground(spec));
  if (code !== 0) throw new ReefError('invalid_state', `${program} ended with ${code}: nothing was changed`);
}

/** As configured, else what the user's shell uses. */
function editorOf({ config, environment }: AppState): string {
  const found = config.editor ?? environment.VISUAL ?? environment.EDITOR;
  if (found) return found;
  throw new ReefError('invalid_state', 'no editor is known: set `editor` in config.yaml, or EDITOR');
}

interface Editing {
  app: AppState;
  cli: Cli;
  terminal: ChatTerminal;
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

const DISPLAYS = ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'XDG_RUNTIME_DIR'];

/** Copies by the desktop's own program where there is one, else by an escape code of the terminal, which works over ssh too. */
export async function copyText(text: string, { env, cwd, host }: Cli): Promise<void> {
  const [file, ...args] = program(env.all);
  if (file !== undefined) {
    const given = allowedEnv(env.all, DISPLAYS, {});
    const result = await run({ file, args, cwd, env: given, input: text, timeoutMs: 2_000 }).catch(() => undefined);
    if (result?.code === 0) return;
  }
  host.stdout.write(`\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`);
}

function program(all: Readonly<NodeJS.ProcessEnv>): string[] {
  if (process.platform === 'darwin') return ['/usr/bin/pbcopy'];
  if (all.WAYLAND_DISPLAY) return ['wl-copy'];
  return all.DISPLAY ? ['xclip', '-selection', 'clipboard'] : [];
}
