import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { fillLeaves } from '../config/placeholders.ts';
import { passwordFrom } from './password.ts';
import { Vault } from './vault.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = temporaryFolder();
  path = join(dir, 'config', 'vault.reef.json');
});

const vault = (password = 'correct horse', onReveal: (value: string) => void = () => {}) =>
  new Vault({ path, password: async () => password, onReveal });

describe('the vault', () => {
  verifies('R-16').test('keeps secrets by name in a private file from which nothing can be read', async () => {
    const first = vault();
    await first.add('OPENAI', 'sk-secret-one');
    await first.add('GITHUB', 'ghp-secret-two');
    await first.update('OPENAI', 'sk-secret-three');
    const other = vault();
    const text = readFileSync(path, 'utf8');
    expect({
      names: await other.list(),
      values: [await other.get('OPENAI'), await other.get('GITHUB')],
      kdf: JSON.parse(text).kdf,
      mode: statSync(path).mode & 0o777,
      leaks: /secret-/.test(text),
    }).toEqual({
      names: ['GITHUB', 'OPENAI'],
      values: ['sk-secret-three', 'ghp-secret-two'],
      kdf: { name: 'scrypt', N: 2 ** 17, r: 8, p: 1, salt: expect.any(String) },
      mode: 0o600,
      leaks: false,
    });
    await other.delete('OPENAI');
    expect(await other.list()).toEqual(['GITHUB']);
  });

  verifies('R-16').test('opens to no other password, for reading or writing, and stays untouched', async () => {
    await vault().add('A', 'value');
    const before = readFileSync(path, 'utf8');
    const wrong = vault('correct house');
    await expect(wrong.get('A')).rejects.toMatchObject({ code: 'vault_locked' });
    await expect(wrong.add('B', 'x')).rejects.toMatchObject({ code: 'vault_locked' });
    await expect(wrong.delete('A')).rejects.toMatchObject({ code: 'vault_locked' });
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  verifies('R-16').test('does not open a value that was moved to another name', async () => {
    const mine = vault();
    await mine.add('A', 'value of A');
    await mine.add('B', 'value of B');
    const file = JSON.parse(readFileSync(path, 'utf8'));
    [file.secrets.A, file.secrets.B] = [file.secrets.B, file.secrets.A];
    writeFileSync(path, JSON.stringify(file));
    await expect(vault().get('A')).rejects.toMatchObject({ code: 'vault_invalid' });
  });

  test('refuses to add twice, to change what is not there, and a name that is none', async () => {
    const mine = vault();
    await mine.add('A', 'x');
    await expect(mine.add('A', 'y')).rejects.toMatchObject({ code: 'secret_exists' });
    await expect(mine.update('B', 'y')).rejects.toMatchObject({ code: 'secret_missing' });
    await expect(mine.delete('B')).rejects.toMatchObject({ code: 'secret_missing' });
    await expect(mine.add('a b', 'y')).rejects.toMatchObject({ code: 'name_invalid' });
    expect(await mine.get('A')).toBe('x');
  });

  test('loses nothing when written many times at once', async () => {
    const mine = vault();
    await Promise.all(Array.from({ length: 20 }, (_, n) => mine.add(`S${n}`, `v${n}`)));
    expect(await mine.list()).toHaveLength(20);
  });

  test('that is torn is told and not overwritten', async () => {
    const mine = vault();
    await mine.add('A', 'x');
    writeFileSync(path, '{"version":1,');
    await expect(mine.add('B', 'y')).rejects.toMatchObject({ code: 'vault_invalid' });
    expect(readFileSync(path, 'utf8')).toBe('{"version":1,');
  });
});

describe('its password', () => {
  const from = (file: string | null, ask?: (question: string) => Promise<string>) =>
    passwordFrom({ file, home: dir, configDir: dir, ask })();

  verifies('R-166').test('is typed twice for a new vault, and once for one that is there', async () => {
    const typing = (...answers: string[]) => {
      const asked: string[] = [];
      const ask = async (question: string) => {
        asked.push(question);
        return answers.shift() ?? '';
      };
      const password = passwordFrom({ file: null, home: dir, configDir: dir, ask });
      return { asked, made: new Vault({ path, password }) };
    };
    const slip = typing('long enough', 'long enoug');
    await expect(slip.made.add('A', 'x')).rejects.toMatchObject({
      code: 'vault_password_invalid',
      message: 'the two passwords differ: no vault was made',
    });
    expect(existsSync(path)).toBe(false);
    const first = typing('long enough', 'long enough');
    await first.made.add('A', 'x');
    const later = typing('long enough');
    expect([await later.made.get('A'), first.asked, later.asked]).toEqual([
      'x',
      ['Password of the new vault: ', 'The same password again: '],
      ['Password of the vault: '],
    ]);
  });

  verifies('R-16').test('comes from a file only its owner can read, or from the terminal', async () => {
    const file = join(dir, 'password');
    writeFileSync(file, 'long enough\n', { mode: 0o600 });
    expect([await from(file), await from('~/password'), await from('password')]).toEqual(Array(3).fill('long enough'));
    chmodSync(file, 0o640);
    await expect(from(file)).rejects.toMatchObject({
      code: 'vault_password_invalid',
      message: expect.stringContaining('chmod 600'),
    });
    expect(await from(null, async () => 'typed by hand')).toBe('typed by hand');
    await expect(from(null)).rejects.toMatchObject({ code: 'vault_locked' });
    await expect(from(null, async () => 'too short')).rejects.toMatchObject({ code: 'vault_password_invalid' });
  });
});

describe('placeholders', () => {
  verifies('D11', 'R-17').test('two on one line are two', () => {
    const secrets = new Map([
      ['USER', 'me'],
      ['PASS', 'word'],
    ]);
    const line = 'url: https://{{USER}}:{{PASS}}@host';
    /** The known-bad twin: the text of the file, from the first brace of a line to its last. */
    const greedy = (text: string) =>
      parse(text.replace(/\{\{(.+)\}\}/g, (_, name: string) => secrets.get(name) ?? `no secret ${name}`));
    expect([fillLeaves(parse(line), secrets), greedy(line)]).toEqual([
      { url: 'https://me:word@host' },
      { url: 'https://no secret USER}}:{{PASS@host' },
    ]);
  });

  verifies('D11', 'R-17').test('may stand for anything without breaking their file', async () => {
    const told: string[] = [];
    const mine = vault('correct horse', (value) => told.push(value));
    await mine.add('USER', 'a: "b"\n- {{PASS}}');
    await mine.add('PASS', "it's: #1\n\t{}");
    const parsed = {
      url: 'https://{{USER}}:{{ PASS }}@host',
      list: ['{{PASS}}', 3],
      other: { keep: '{{__os__}} {x}' },
    };
    const filled = await mine.fill(parsed, 'mcp.json');
    expect(filled).toEqual({
      url: `https://a: "b"\n- {{PASS}}:it's: #1\n\t{}@host`,
      list: ["it's: #1\n\t{}", 3],
      other: { keep: '{{__os__}} {x}' },
    });
    expect(parsed.url).toBe('https://{{USER}}:{{ PASS }}@host');
    expect(told.sort()).toEqual(['a: "b"\n- {{PASS}}', "it's: #1\n\t{}"].sort());
  });

  verifies('R-17').test('that nobody has are one error with every place', async () => {
    const mine = vault();
    await mine.add('HAVE', 'x');
    await expect(mine.fill({ a: '{{HAVE}} {{NOT}}', b: ['{{NEITHER}}'] }, 'config')).rejects.toMatchObject({
      code: 'secret_missing',
      message: 'secrets are missing: NOT (config.a), NEITHER (config.b.0)',
    });
  });

  test('none asks for no password', async () => {
    const shut = new Vault({ path, password: () => Promise.reject(new Error('asked')) });
    const data = { a: 1, b: 'plain {x}' };
    expect(await shut.fill(data, 'x')).toBe(data);
  });

  verifies('R-17').test('change nothing but their leaf, whatever the value', () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (value, rest) => {
        const filled = fillLeaves({ leaf: 'a{{S}}b', rest }, new Map([['S', value]]));
        expect(filled.leaf).toBe(`a${value}b`);
        expect(Object.keys(filled)).toEqual(['leaf', 'rest']);
      }),
    );
  });
});
