import { existsSync, readdirSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import { loadAgentSpec } from '../agent-spec/load.ts';
import { placeholdersIn } from '../config/placeholders.ts';
import { isProblem, isRecord, parseSource } from '../config/settings-file.ts';
import { loadMacro } from '../macros/macro.ts';
import type { Paths } from '../paths.ts';
import { loadRole } from '../roles/role-folder.ts';
import { type ConfigNotes, configNotes, type Note } from './config-notes.ts';
import { rowOfFile } from './loki-table.ts';

export interface ImportReport extends ConfigNotes {
  /** Relative to the folder imported from. */
  copied: string[];
  /** Secrets to enter again: the formats of the vaults differ. */
  secrets: string[];
}

/** The folders that Loki and aichat keep under the same names as Reef. */
const FOLDERS: Readonly<Record<string, (paths: Paths) => string>> = {
  roles: (paths) => paths.rolesDir(),
  macros: (paths) => paths.macrosDir(),
  rags: (paths) => paths.ragsDir(),
  sessions: (paths) => paths.sessionsDir(),
  functions: (paths) => paths.functionsDir(),
  agents: (paths) => paths.agentsDataDir(),
};

interface Import {
  from: string;
  paths: Paths;
  report: ImportReport;
}

/** Copies a folder of Loki or aichat into ours. It overwrites nothing, follows no link, and leaves the source as it is. */
export async function importFolder(folder: string, paths: Paths): Promise<ImportReport> {
  const report: ImportReport = { copied: [], differs: [], notUsed: [], secrets: [] };
  const from = folderOfUser(folder, report);
  for (const name of readdirSync(from).sort()) {
    const target = FOLDERS[name]?.(paths);
    if (target) await takeFolder(join(from, name), target, { from, paths, report });
    else await takeFile(join(from, name), paths.localPath(name), { from, paths, report });
  }
  checkCopied(report, paths);
  report.secrets = [...new Set(report.secrets)].sort();
  return report;
}

/** Loki's source keeps in `assets` what its users find in their folder. */
function folderOfUser(folder: string, report: ImportReport): string {
  const names = namesOf(folder);
  if (!names.includes('assets') || names.some((name) => name in FOLDERS || name === 'config.yaml')) return folder;
  const why = "this is Loki's source: its folder assets was copied, and of its examples nothing";
  report.notUsed.push({ path: folder, why });
  return join(folder, 'assets');
}

function namesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    throw new ReefError('bad_request', `${folder} is not a folder that can be read`, { cause });
  }
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
  const row = rowOfFile(path);
  const left = why(row?.loads === true, stat.isFile(), existsSync(target));
  if (left !== undefined) {
    const said = row?.loads === false ? row : undefined;
    note(report.notUsed, { path: said?.file ?? path, why: said?.differs ?? left });
    return;
  }
  if (path === 'config.yaml' && !(await isUsable(source, report))) return;
  if (row?.differs !== undefined && (path !== '.env' || (await namesLoki(source))))
    note(report.differs, { path: row.file, why: row.differs });
  report.secrets.push(...(await secretsOf(path, source)));
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await copyFile(source, target);
  await chmod(target, stat.mode & 0o700);
  report.copied.push(path);
}

function why(isKnown: boolean, isFile: boolean, isThere: boolean): string | undefined {
  if (!isKnown) return 'no such file in Reef';
  if (!isFile) return 'not a regular file';
  return isThere ? 'there is one already' : undefined;
}

const namesLoki = async (file: string) => /^[ \t]*(export[ \t]+)?LOKI_/m.test(await readFile(file, 'utf8'));

/** Many files fare alike: one line says so. */
function note(notes: Note[], added: Note): void {
  if (!notes.some((each) => each.path === added.path && each.why === added.why)) notes.push(added);
}

/** A wrong value keeps the file out, because Reef would not start with it. */
async function isUsable(source: string, report: ImportReport): Promise<boolean> {
  const { problems, differs, notUsed } = configNotes(source);
  report.notUsed.push(...problems);
  if (problems.length > 0) return false;
  report.differs.push(...differs);
  report.notUsed.push(...notUsed);
  return true;
}

/** What is filled in from the vault: all of two files, and the defaults of an agent's variables. */
async function secretsOf(path: string, file: string): Promise<string[]> {
  const isAgent = /^agents\/[^/]+\/config\.yaml$/.test(path);
  if (!isAgent && path !== 'config.yaml' && path !== 'functions/mcp.json') return [];
  const source = parseSource(path, await readFile(file, 'utf8'));
  if (isProblem(source)) return [];
  const variables = isRecord(source.value) && Array.isArray(source.value.variables) ? source.value.variables : [];
  const filled = isAgent ? variables.map((each) => (isRecord(each) ? each.default : undefined)) : source.value;
  return placeholdersIn(filled).map(({ name }) => name);
}

/** Roles, macros and agents are read once, so that a mistake in one is known before it is used. */
function checkCopied(report: ImportReport, paths: Paths): void {
  for (const path of report.copied) {
    const [, kind, name = ''] = /^(roles|macros|agents)\/([^/]+?)(?:\.md|\.yaml|\/config\.yaml)$/.exec(path) ?? [];
    const warn = ({ message }: { message: string }) => report.differs.push({ path, why: message });
    try {
      if (kind === 'roles') loadRole(paths, name, warn);
      if (kind === 'macros') loadMacro(paths, name);
      if (kind === 'agents') loadAgentSpec(name, { paths, env: {}, warn });
    } catch (error) {
      report.differs.push({ path, why: `does not load yet: ${toReefError(error).message}` });
    }
  }
}
