import { expect } from 'vitest';
import { verifies } from '../../test/support/verifies.ts';
import { allowedEnv } from './environment.ts';

const everyday = {
  PATH: '/bin',
  HOME: '/h',
  USER: 'u',
  LOGNAME: 'u',
  SHELL: '/bin/sh',
  LANG: 'C',
  TERM: 'xterm',
  TZ: 'UTC',
};
const locale = { LC_ALL: 'C', LC_CTYPE: 'C', TMPDIR: '/t' };
const network = { HTTPS_PROXY: 'http://proxy:3128', no_proxy: 'localhost', NODE_EXTRA_CA_CERTS: '/ca.pem' };
const dangerous = {
  NODE_OPTIONS: '--require x',
  LD_PRELOAD: 'x.so',
  GIT_DIR: '/x',
  GIT_CONFIG_PARAMETERS: 'x',
  SSH_AUTH_SOCK: '/s',
  ANTHROPIC_API_KEY: 'a',
  OPENAI_API_KEY: 'o',
  REEF_JOB: 'outer',
  path: 'lower case is another name',
};

verifies('X-20').test('a child gets the everyday variables and nothing else', () => {
  expect(allowedEnv({ ...everyday, ...locale, ...dangerous }, [], {})).toEqual({ ...everyday, ...locale });
});

verifies('J-12').test('a child learns how this machine reaches the network', () => {
  expect(allowedEnv({ ...everyday, ...network, ...dangerous }, [], {})).toEqual({ ...everyday, ...network });
});

verifies('X-20').test('what is named passes, what is named and absent does not appear, values of our own win', () => {
  const from = { ...everyday, ...dangerous, EMPTY: '' };
  const named = ['ANTHROPIC_API_KEY', 'ABSENT', 'EMPTY'];
  expect(allowedEnv(from, named, { TERM: 'dumb', NO_COLOR: '1' })).toEqual({
    ...everyday,
    ANTHROPIC_API_KEY: 'a',
    EMPTY: '',
    TERM: 'dumb',
    NO_COLOR: '1',
  });
});
