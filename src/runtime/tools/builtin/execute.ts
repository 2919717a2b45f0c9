import { z } from 'zod';
import { ReefError } from '../../../protocol/errors.ts';
import type { CommandResult, CommandSpec, RunCommand } from '../command.ts';
import { defineTool } from '../define-tool.ts';
import { ToolFailure } from '../output.ts';
import type { Tool } from '../tool.ts';

export interface ExecuteDeps {
  run: RunCommand;
  /** `REEF_SHELL`, or the system's shell. */
  shell: string;
  /** `USQL_DSN`: the database of `execute_sql_code`. */
  dsn?: string | undefined;
}

export function executingTools(deps: ExecuteDeps): Tool[] {
  const run = async (spec: CommandSpec) => outcome(await deps.run(spec));
  return [
    defineTool({
      name: 'execute_command',
      description: 'Runs a shell command in the working directory and shows what it writes.',
      effect: 'exec',
      arguments: z.object({ command: z.string().min(1) }),
      claims: ({ command }) => ({ command }),
      run: ({ command }, { cwd, signal }) => run({ file: deps.shell, args: ['-c', command], cwd, signal }),
    }),
    defineTool({
      name: 'execute_py_code',
      description: 'Runs a Python program and shows what it prints.',
      effect: 'exec',
      arguments: z.object({ code: z.string().min(1) }),
      claims: ({ code }) => ({ subject: code }),
      run: ({ code }, { cwd, signal }) => run({ file: 'python3', args: ['-'], cwd, input: code, signal }),
    }),
    defineTool({
      name: 'execute_sql_code',
      description: 'Runs SQL on the configured database and shows the rows.',
      effect: 'exec',
      arguments: z.object({ code: z.string().min(1) }),
      claims: ({ code }) => ({ subject: code }),
      run: ({ code }, { cwd, signal }) => run({ ...sqlProgram(deps.dsn), cwd, input: code, signal }),
    }),
  ];
}

/** usql knows all databases. sqlite3 is on most machines; without `-safe` its own commands can run programs. */
function sqlProgram(dsn: string | undefined): Pick<CommandSpec, 'file' | 'args' | 'env'> {
  if (dsn === undefined || dsn === '') {
    throw new ReefError('tool_failed', 'No database is configured: set USQL_DSN, for example to sqlite:data.db');
  }
  const [, file] = /^(?:sqlite|sqlite3|file):(?:\/\/)?(.+)$/.exec(dsn) ?? [];
  if (file !== undefined) return { file: 'sqlite3', args: ['-safe', '-bail', '-header', '-csv', file] };
  // Not in argv: the address has a password, and every user of the machine can read argv.
  return { file: 'sh', args: ['-c', 'exec usql --no-psqlrc --csv -f - "$USQL_DSN"'], env: { USQL_DSN: dsn } };
}

export function outcome({ code, signal, stdout, stderr, timedOut }: CommandResult): string {
  if (code === 0 && !timedOut) return [stdout, stderr].filter((text) => text !== '').join('\n');
  const how = timedOut
    ? 'It took too long and was ended'
    : signal === null
      ? `Exit code ${code}`
      : `Ended by ${signal}`;
  throw new ToolFailure(how, { stdout, stderr });
}
