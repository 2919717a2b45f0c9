import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { withheldText } from '../../agents/project-files.ts';
import { TrustFile } from '../../runtime/config/trust-file.ts';
import { projectFilesOf } from './agent-settings.ts';
import { Project } from './project.ts';

const NAMES = { settings: ['.claude', '.mcp.json'], instructions: ['CLAUDE.md'] };

let root: string;
let worktree: string;
let trust: TrustFile;
beforeEach(() => {
  root = temporaryFolder();
  worktree = temporaryFolder();
  trust = new TrustFile(join(temporaryFolder(), 'trust.json'));
  for (const folder of [root, worktree]) put(folder, { '.git/HEAD': '' });
});

function put(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const found = (cwd: string) => projectFilesOf({ root, trust })(cwd, NAMES);
const project = () => new Project({ root, trust, clock: manualClock() });
const trustAll = async () => {
  const { items } = await project().trust({ hashes: [] }, { by: 'me', surface: 'cli' });
  const hashes = items.map(({ hash }) => hash).filter(Boolean);
  return project().trust({ hashes }, { by: 'me', surface: 'cli' });
};

verifies('X-132').test(
  'what was trusted in the main checkout takes effect in a worktree, and a changed byte of it does not',
  async () => {
    const files = {
      '.claude/settings.json': '{}',
      '.claude/skills/a/SKILL.md': 'skill',
      '.mcp.json': '{}',
      'CLAUDE.md': 'Hi.',
    };
    put(root, {
      ...files,
      '.claude/settings.local.json': '{"mine":1}',
      '.claude/worktrees/x/.claude/settings.json': '{}',
    });
    put(worktree, files);
    expect(await found(worktree)).toEqual({
      roots: [worktree, root],
      withheld: ['.claude/settings.json', '.claude/skills/a/SKILL.md', '.mcp.json'],
      instructions: [{ path: join(worktree, 'CLAUDE.md'), name: 'CLAUDE.md', text: 'Hi.' }],
    });
    const { items } = await trustAll();
    expect(items.map(({ name, content, trusted }) => [name, content, trusted])).toEqual([
      ['.claude/settings.json', '{}', true],
      ['.claude/settings.local.json', '{"mine":1}', true],
      ['.claude/skills/a/SKILL.md', 'skill', true],
      ['.mcp.json', '{}', true],
    ]);
    expect((await found(worktree)).withheld).toEqual([]);
    put(worktree, { '.mcp.json': '{ }', '.claude/hooks/new.sh': 'touch x' });
    expect((await found(worktree)).withheld).toEqual(['.claude/hooks/new.sh', '.mcp.json']);
  },
);

verifies('X-132').test(
  'a link, a large file and a folder below have nobody’s trust, and the job says how to look at them',
  async () => {
    put(root, { '.mcp.json': 'x'.repeat(1024 * 1024 + 1), 'below/.mcp.json': '{}', 'below/CLAUDE.md': 'Below.' });
    symlinkSync(worktree, join(root, '.claude'));
    await trustAll();
    const files = await found(join(root, 'below'));
    expect(files.withheld).toEqual(['.claude', '.mcp.json', 'below/.mcp.json']);
    expect(files.instructions.map(({ name }) => name)).toEqual(['below/CLAUDE.md']);
    expect(withheldText(files)).toContain('reef trust');
  },
);

verifies('X-132').test('bytes that are no text are trusted byte by byte', async () => {
  mkdirSync(join(root, '.claude'));
  writeFileSync(join(root, '.claude/tool'), Buffer.from([0xff, 0xfe, 1]));
  await trustAll();
  expect((await found(root)).withheld).toEqual([]);
  writeFileSync(join(root, '.claude/tool'), Buffer.from([0xff, 0xfd, 1]));
  expect((await found(root)).withheld).toEqual(['.claude/tool']);
});

verifies('X-132').test('outside of a repository nothing is trusted', async () => {
  put(root, { '.mcp.json': '{}' });
  await trustAll();
  expect((await projectFilesOf({ root: undefined, trust })(root, NAMES)).withheld).toEqual(['.mcp.json']);
});
