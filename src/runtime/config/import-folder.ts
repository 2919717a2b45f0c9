import { existsSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';
import type { Paths } from '../paths.ts';
import { readLayer } from './load.ts';
import { placeholdersIn } from './placeholders.ts';
import { isProblem, parseSource } from './settings-file.ts';

export interface ImportReport {
  /** Relative to the folder imported from. */
  copied: string[];
  notUsed: { path: string; why: string }[];
  /** Secrets to enter again: the formats of the vaults differ. */
  secrets: string[];
}

/** The files and folders that Loki and aichat keep under the same names as Reef. */
const FILES = ['config.yaml', '.env', 'models-override.yaml'];
const FOLDERS: Readonly<Record<string, (paths: Paths) => string>> = {
  roles: (paths) => paths.rolesDir(),
  macros: (paths) => paths.macrosDir(),
  rags: (paths) => paths.ragsDir(),
  sessions: (paths) => paths.sessionsDir(),
  functions: (paths) => paths.functionsDir(),
  agents: (paths) => paths.agentsDataDir(),
};

/** Copies a folder of Loki or aichat into ours. It overwrites nothing, follows no link, and leaves the source as it is. */
export async function importFolder(from: string, paths: Paths): Promise<ImportReport> {
  const report: ImportReport = { copied: [], notUsed: [], secrets: [] };
  const names = await readdir(from).catch((cause: Error) => {
    throw new ReefError('bad_request', `${from} is not a folder that can be read`, { cause });
  });
  for (const name of names.sort()) {
    const target = FOLDERS[name]?.(paths);
    if (FILES.includes(name)) await takeFile(join(from, name), paths.localPath(name), { from, report });
    else if (target) await takeFolder(join(from, name), target, { from, report });
    else report.notUsed.push({ path: name, why: 'no such file in Reef' });
  }
  report.secrets = [...new Set(report.secrets)].sort();
  return report;
}

interface Import {
  from: string;
  report: ImportReport;
}

async function takeFolder(source: string, target: string, job: Import): Promise<void> {
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const [inner, outer] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isDirectory()) await takeFolder(inner, outer, job);
    else await takeFile(inner, outer, job);
  }
}

async function takeFile(source: string, target: string, { from, report }: Import): Promise<void> {
  const path = relative(from, source);
  const stat = await lstat(source);
  const why = !stat.isFile() ? 'not a regular file' : existsSync(target) ? 'there is one already' : undefined;
  const problems = why === undefined && path === 'config.yaml' ? problemsOf(source, report) : [];
  if (why !== undefined || problems.length > 0) {
    report.notUsed.push(...(why === undefined ? problems : [why]).map((reason) => ({ path, why: reason })));
    return;
  }
  await noteSecrets(source, report);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await copyFile(source, target);
  await chmod(target, stat.mode & 0o700);
  report.copied.push(path);
}

/** An unknown setting is reported. A wrong one keeps the file out, because Reef would not start with it. */
function problemsOf(file: string, report: ImportReport): string[] {
  const checked = readLayer(file);
  for (const { line, message } of checked?.warnings ?? []) {
    report.notUsed.push({ path: `config.yaml:${line ?? '?'}`, why: message });
  }
  return (checked?.problems ?? []).map(
    ({ line, path, expected, found }) => `line ${line ?? '?'}: ${path}: expected ${expected}, found ${found}`,
  );
}

async function noteSecrets(file: string, report: ImportReport): Promise<void> {
  if (!/(config\.yaml|mcp\.json)$/.test(file)) return;
  const source = parseSource(file, await readFile(file, 'utf8'));
  if (!isProblem(source)) report.secrets.push(...placeholdersIn(source.value).map(({ name }) => name));
}
