import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fingerprint } from '../base/fingerprint.ts';
import type { Job, Question } from '../protocol/jobs.ts';
import type { AskedQuestion, Json } from './adapter.ts';
import { GUARDED } from './sandbox.ts';

type Grant = NonNullable<Question['grant']>;

/**
 * What a person who allows a request for longer than once allows, in words they are shown before. Edits are allowed for the
 * whole folder of the job, a tool of an MCP server with any arguments, a command only as it stands: a rule over the text of
 * commands is no boundary.
 */
export function grantFor(job: Pick<Job, 'cwd'>, { tool, input, wants }: AskedQuestion): Grant {
  const { cwd } = job;
  if (wants && 'edits' in wants && areEditsInside(cwd, wants.edits))
    return { covers: `all edits of files in ${cwd}`, fingerprint: fingerprint({ edits: cwd }) };
  if (wants && 'command' in wants)
    return { covers: `this command line in ${cwd}`, fingerprint: fingerprint({ command: wants.command, cwd }) };
  if (wants && 'mcpTool' in wants)
    return {
      covers: `the tool ${wants.mcpTool} with any arguments, in ${cwd}`,
      fingerprint: fingerprint({ mcpTool: wants.mcpTool, cwd }),
    };
  if (wants && 'host' in wants)
    return { covers: `connections to ${wants.host} from a sandbox`, fingerprint: fingerprint({ host: wants.host }) };
  const exact = { tool: tool ?? null, input: (input ?? null) as Json, cwd };
  return { covers: `exactly this request in ${cwd}`, fingerprint: fingerprint(exact) };
}

/** Edits of files in the folder, and commands: with a sandbox around it, whose network asks for itself, neither gets out. */
export function staysInside({ cwd }: Pick<Job, 'cwd'>, { wants }: AskedQuestion): boolean {
  if (!wants) return false;
  return 'command' in wants || ('edits' in wants && areEditsInside(cwd, wants.edits));
}

/** Not through a link that leads out, and none of the files that programs of the user act on. */
function areEditsInside(cwd: string, paths: string[]): boolean {
  return paths.length > 0 && paths.every((path) => isPlain(relative(realPath(cwd), realPath(resolve(cwd, path)))));
}

function isPlain(below: string): boolean {
  const [first = ''] = below.split(sep);
  return (
    below !== '' &&
    first !== '..' &&
    !below.startsWith(sep) &&
    !below.split(sep).includes('.git') &&
    !GUARDED.includes(first)
  );
}

/** Where a path that may not exist yet leads. A link to nothing leads nowhere: what is written there is made elsewhere. */
function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  if (lstatSync(path, { throwIfNoEntry: false })) return '/';
  return join(realPath(dirname(path)), basename(path));
}
