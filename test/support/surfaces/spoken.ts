import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { main } from '../../../src/programs/reef.ts';

interface Sitting {
  args: readonly string[];
  cwd: string;
  env: NodeJS.ProcessEnv;
  isTTY?: boolean;
  /** What the person types, and when: `stdin` is theirs, `stderr` is where they are asked. */
  person(stdin: PassThrough, stderr: PassThrough): void;
}

/** The command line in this process: what a person gets back. */
export async function spoken({ args, cwd, env, isTTY = false, person }: Sitting) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const said = Promise.all([text(stdout), text(stderr)]);
  person(stdin, stderr);
  const terminal = isTTY ? { isTTY, columns: 80 } : {};
  const code = await main({
    ...{ argv: ['node', 'reef', ...args], env, cwd: () => cwd },
    stdin: Object.assign(stdin, terminal),
    stdout: Object.assign(stdout, terminal),
    stderr: Object.assign(stderr, terminal),
  });
  stdout.end();
  stderr.end();
  const [out, err] = await said;
  return { code, out, err };
}
