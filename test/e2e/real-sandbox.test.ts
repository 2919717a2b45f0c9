import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { verifies } from '../support/verifies.ts';
import { installed, openRig, type Rig, SLOW_MS } from './real.ts';

/** Real agents in Reef's own sandbox: they work in their folder, and see little else. */

let rig: Rig;
beforeAll(async () => {
  // In the sandbox /tmp is another folder: what lies there would be hidden by that alone.
  rig = await openRig({}, '/var/tmp');
});
afterAll(() => rig.close());

const { bubblewrap, sandboxesNetwork } = await probeCapabilities();

/** What says which programs it runs; absent before Claude Code first starts. */
const SETTINGS = { claude: '~/.claude/settings.json', codex: '~/codex/config.toml' };

for (const agent of ['claude', 'codex'] as const) {
  verifies('A-104', 'X-08', 'X-22', 'X-23', 'X-25', 'U-16')
    .needs(...installed(agent))
    .needs(bubblewrap !== undefined, 'bubblewrap is not installed or not allowed to work')
    .test(
      `${agent} in the sandbox writes its folder, not its neighbour's, reads no key, changes its settings in a copy, and has its door`,
      async () => {
        const { home, repository, root } = rig.world;
        const outside = join(repository, `outside-${agent}.txt`);
        const commands = [
          'echo inside > inside.txt',
          `echo outside > ${outside}`,
          'echo home > ~/outside.txt',
          `cat ${join(root, 'config', 'reef', 'config.yaml')}`,
          `ls ${home.sockets}`,
          `echo x > ${SETTINGS[agent]}`,
        ];
        rig.scripts[`boxed-${agent}`] = [
          ...commands.map((shell) => ({ tools: [{ shell }] })),
          { tools: [{ tool: 'mcp__reef__status', input: {} }] },
          { text: 'I am in a box.' },
        ];
        const job = await rig.spawn({ agent, script: `boxed-${agent}`, yes: true, sandbox: true });
        const [program = ''] = (await job.payloads('started'))[0]?.command ?? [];
        expect(await job.ended()).toMatchObject({ status: 'completed', sandbox: 'bubblewrap', turns: 8 });
        expect(job.file('inside.txt')).toBe('inside\n');
        expect(existsSync(outside)).toBe(false);
        expect(existsSync(join(job.home, 'outside.txt'))).toBe(false);
        const [, neighbour, agentHome, keys, jobs, settings, status] = (await job.progress('tool_result')).map(
          ({ text }) => text,
        );
        expect(neighbour).toMatch(/Read-only file system|No such file|nonexistent/i);
        expect(agentHome).not.toMatch(/read-only/i); // its home is its own
        const path = join(job.home, SETTINGS[agent].slice('~/'.length));
        expect(settings).not.toMatch(/read-only/i);
        expect(existsSync(path) ? readFileSync(path, 'utf8') : '').not.toMatch(/^x$/m);
        expect(keys).not.toContain(program);
        expect(keys).toContain('No such file');
        expect(jobs?.trim()).toBe(job.id);
        expect(status).toContain(job.id);
      },
      SLOW_MS,
    );
}

/** Where each keeps its conversations in its home. */
const SESSIONS = { claude: '.claude/projects', codex: 'codex/sessions' };

for (const agent of ['claude', 'codex'] as const) {
  verifies('X-135', 'X-133')
    .needs(...installed(agent))
    .needs(bubblewrap !== undefined, 'bubblewrap is not installed or not allowed to work')
    .test(
      `${agent} in the default sandbox edits and runs on while the daemon is killed, and is resumed after its end`,
      async () => {
        rig.scripts[`survives-${agent}`] = [
          { tools: [{ write: 'made.txt', content: 'made\n' }] },
          { tools: [{ shell: 'echo begun > begun.txt; sleep 5' }] },
          { text: 'Survived.' },
          { text: 'I remember.' },
        ];
        const job = await rig.spawn({ agent, script: `survives-${agent}`, yes: true });
        await job.begun();
        await rig.world.killDaemon();
        expect(await job.ended()).toMatchObject({ status: 'completed', sandbox: 'bubblewrap', launch: 1 });
        expect(job.file('made.txt')).toBe('made\n');
        const conversation = () => {
          const folder = join(job.home, SESSIONS[agent]);
          const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
            name.endsWith('.jsonl'),
          );
          return files.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
        };
        expect(conversation()).toContain('Survived.');
        await job.resume('What happened?');
        await job.until(({ launch, activity }) => launch === 2 && activity === 'ended');
        expect(JSON.stringify(job.requests().at(-1)?.body)).toContain('Survived.');
        expect(conversation()).toContain('I remember.');
      },
      2 * SLOW_MS,
    );
}

/** The smallest registry: one package, `coral`, on loopback. */
async function startRegistry(folder: string): Promise<string> {
  mkdirSync(join(folder, 'package'), { recursive: true });
  writeFileSync(join(folder, 'package', 'package.json'), '{"name":"coral","version":"1.0.0","main":"coral.js"}');
  writeFileSync(join(folder, 'package', 'coral.js'), 'module.exports = "pink";\n');
  execFileSync('tar', ['-czf', 'coral.tgz', 'package'], { cwd: folder });
  const server = createServer((request, response) => {
    if (request.url?.endsWith('.tgz')) return response.end(readFileSync(join(folder, 'coral.tgz')));
    const dist = { tarball: `http://${request.headers.host}/coral.tgz` };
    const version = { name: 'coral', version: '1.0.0', dist };
    return response.end(
      JSON.stringify({ name: 'coral', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const identity = '-c user.name=A -c user.email=a@example.invalid';

for (const agent of ['acp:gemini', 'acp:opencode'] as const) {
  verifies('X-137')
    .needs(...installed(agent))
    .needs(sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
    .test(
      `${agent} in the default sandbox commits, and its worktree shows the commit when it has ended`,
      async () => {
        const shell = `echo pink > colour.txt && git add colour.txt && git ${identity} commit -qm "Add a coral"`;
        rig.scripts.commits = [{ tools: [{ shell }] }, { text: 'Committed.' }];
        const job = await rig.spawn({ agent, script: 'commits', yes: true, worktree: `coral ${agent}` });
        const { cwd, ...ended } = await job.ended();
        expect([ended.status, ended.sandbox]).toEqual(['completed', 'bubblewrap']);
        const git = (...args: string[]) => execFileSync('git', ['-C', cwd, ...args], { encoding: 'utf8' });
        expect([git('log', '-1', '--format=%an %s'), git('status', '--porcelain')]).toEqual(['A Add a coral\n', '']);
      },
      SLOW_MS,
    );
}

for (const agent of ['claude', 'codex'] as const) {
  verifies('X-134', 'X-137')
    .needs(...installed(agent))
    .needs(sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
    .test(
      `${agent} in the default sandbox installs a package from a registry that its settings name, and commits`,
      async () => {
        const registry = await startRegistry(join(rig.world.root, `registry-${agent}`));
        const commands = [
          'npm install --no-audit --no-fund coral && node -p \'require("coral")\' > colour.txt',
          'echo node_modules > .gitignore; git add .gitignore colour.txt package.json',
          `git ${identity} commit -qm "Add a coral"`,
        ];
        rig.scripts[`installs-${agent}`] = [
          ...commands.map((shell) => ({ tools: [{ shell }] })),
          { text: 'Installed.' },
        ];
        const env = { npm_config_registry: registry, npm_config_fetch_retries: '0' };
        const job = await rig.spawn({ agent, script: `installs-${agent}`, env, worktree: `coral ${agent}` });
        const { cwd, ...ended } = await job.ended();
        const said = (await job.progress('tool_result')).map(({ text }) => text).join('\n');
        expect([ended.status, ended.sandbox, ended.lastOutput], said).toEqual([
          'completed',
          'bubblewrap',
          'Installed.',
        ]);
        const log = execFileSync('git', ['-C', cwd, 'log', '-1', '--format=%an %s', '--name-only'], {
          encoding: 'utf8',
        });
        expect(log.split('\n').filter(Boolean), said).toEqual([
          'A Add a coral',
          '.gitignore',
          'colour.txt',
          'package.json',
        ]);
        expect(readFileSync(join(cwd, 'colour.txt'), 'utf8')).toBe('pink\n');
      },
      SLOW_MS,
    );
}

verifies('X-133', 'X-135')
  .needs(...installed('claude'))
  .needs(bubblewrap !== undefined, 'bubblewrap is not installed or not allowed to work')
  .test(
    'a sub-agent of claude works in the sandbox of its parent and behind the same walls',
    async () => {
      const outside = join(rig.world.root, 'outside.txt');
      rig.scripts['sub-agent'] = [
        {
          tools: [
            {
              tool: 'Agent',
              input: {
                ...{ description: 'Paint it', prompt: 'Paint the coral.' },
                ...{ subagent_type: 'general-purpose', run_in_background: false },
              },
            },
          ],
        },
        { tools: [{ shell: `echo pink > coral.txt; echo x > ${outside}; cat ~/.claude/settings.json` }] },
        { text: 'It is pink.' },
        { text: 'My painter is done.' },
      ];
      const job = await rig.spawn({ agent: 'claude', script: 'sub-agent', yes: true });
      expect(await job.ended()).toMatchObject({
        status: 'completed',
        sandbox: 'bubblewrap',
        lastOutput: 'My painter is done.',
      });
      expect([job.file('coral.txt'), existsSync(outside)]).toEqual(['pink\n', false]);
      const asked = job.requests().map(({ body }) => JSON.stringify(body));
      expect(asked.some((body) => body.includes('Paint the coral.') && !body.includes('My painter'))).toBe(true);
      expect((await job.progress('subagent')).length).toBeGreaterThan(0);
    },
    SLOW_MS,
  );
