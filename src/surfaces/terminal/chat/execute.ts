import { existsSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Dialogue } from '../../../app/runtime/dialogue.ts';
import { runForeground } from '../../../process/foreground.ts';
import { plainAnswer, terminalEmitter } from '../../../runtime/engine/emitter.ts';
import { PRESETS } from '../../../runtime/engine/engine.ts';
import { userText } from '../../../runtime/models/message.ts';
import { loadRole } from '../../../runtime/roles/role-folder.ts';
import type { Cli } from '../cli.ts';
import type { Person } from '../prompt/person.ts';
import { copyText } from './user-programs.ts';

interface Offer {
  cli: Cli;
  person: Person;
  signal: AbortSignal;
  command: string;
}

/** Runs the command that the model wrote, but only when the person says so. */
export async function offer(conversation: Dialogue, { cli, person, signal, command }: Offer): Promise<number> {
  const { ctx } = conversation;
  const write = (text: string) => void cli.host.stdout.write(text);
  const asking = {
    emitter: terminalEmitter({ answer: plainAnswer(write), notes: write }),
    options: { ...PRESETS.cli, signal },
  };
  for (let line = command.trim(); ; ) {
    const typed = await person.question('execute, revise, describe, copy or quit? [q] ', signal);
    switch (typed.trim().toLowerCase()[0]) {
      case 'e': {
        const shell = ctx.app.environment.REEF_SHELL ?? '/bin/sh';
        if (ctx.app.config.save_shell_history) await remember(line, cli.env);
        return runForeground({ file: shell, args: ['-c', line], cwd: cli.cwd, env: cli.env.all });
      }
      case 'r': {
        const change = await person.question('What should be different? ', signal);
        const outcome = await conversation.ask(userText(`${line}\n\n${change}`), asking);
        line = (outcome.final_message ?? line).trim();
        break;
      }
      case 'd':
        await conversation.aside(loadRole(ctx.app.paths, 'explain-shell'), userText(line), asking);
        break;
      case 'c':
        await copyText(line, cli);
        break;
      default:
        return 0;
    }
  }
}

/** `save_shell_history`: adds the line to the history of the user's shell, if it keeps one. */
async function remember(line: string, { shell, home }: Cli['env']): Promise<void> {
  const name = basename(shell);
  const file = join(home, `.${name}_history`);
  if (!['bash', 'zsh'].includes(name) || !existsSync(file)) return;
  await appendFile(file, `${line.replaceAll('\n', '\\\n')}\n`);
}
