import { existsSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Conversation } from '../../app/runtime/conversation.ts';
import { runForeground } from '../../process/foreground.ts';
import { terminalEmitter } from '../../runtime/engine/emitters.ts';
import { PRESETS } from '../../runtime/engine/engine.ts';
import { userText } from '../../runtime/models/message.ts';
import { loadRole } from '../../runtime/roles/role-folder.ts';
import type { Cli } from '../cli/cli.ts';
import { copyText } from './clipboard.ts';
import type { Person } from './person.ts';

interface Offer {
  cli: Cli;
  person: Person;
  signal: AbortSignal;
  command: string;
}

/** A command the model wrote is run only when somebody says so. */
export async function offer(conversation: Conversation, { cli, person, signal, command }: Offer): Promise<number> {
  const { ctx } = conversation;
  const write = (text: string) => void cli.host.stdout.write(text);
  const asking = { emitter: terminalEmitter({ answer: write, notes: write }), options: { ...PRESETS.cli, signal } };
  for (let line = command.trim(); ; ) {
    const typed = await person.question('execute, revise, describe, copy or quit? [q] ', signal);
    switch (typed.trim().toLowerCase()[0]) {
      case 'e': {
        const shell = ctx.app.environment.REEF_SHELL ?? '/bin/sh';
        if (ctx.app.config.save_shell_history) await remember(line, cli.env);
        return runForeground({ file: shell, args: ['-c', line], cwd: cli.cwd, env: cli.env.all });
      }
      case 'r': {
        const change = await person.question('What is to be different? ', signal);
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

/** `save_shell_history`: found again by the user's shell, where it keeps a history. */
async function remember(line: string, { shell, home }: Cli['env']): Promise<void> {
  const name = basename(shell);
  const file = join(home, `.${name}_history`);
  if (!['bash', 'zsh'].includes(name) || !existsSync(file)) return;
  await appendFile(file, `${line.replaceAll('\n', '\\\n')}\n`);
}
