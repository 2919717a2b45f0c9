import { homedir } from 'node:os';
import { expect, test } from 'vitest';
import { readEnvironment } from './env.ts';

test('an empty environment gives the defaults of the XDG rules', () => {
  const home = homedir();
  expect(readEnvironment({})).toEqual({
    home,
    reefHome: undefined,
    reefSocket: undefined,
    isInJob: false,
    reefJobDir: undefined,
    configHome: `${home}/.config`,
    dataHome: `${home}/.local/share`,
    stateHome: `${home}/.local/state`,
    cacheHome: `${home}/.cache`,
    runtimeDir: undefined,
    path: '',
    shell: '/bin/sh',
    noColor: false,
    all: {},
  });
});

test('what is set is taken, relative folders and empty values are not', () => {
  const all = {
    HOME: '/home/u',
    REEF_HOME: '/srv/reef',
    XDG_CONFIG_HOME: '/c',
    XDG_DATA_HOME: 'relative',
    XDG_STATE_HOME: '',
    XDG_RUNTIME_DIR: '/run/user/1000',
    PATH: '/bin',
    SHELL: '/bin/zsh',
    VISUAL: '',
    EDITOR: 'vi',
    NO_COLOR: '1',
    CI: 'true',
    REEF_SEED: '-42',
  };
  expect(readEnvironment(all)).toEqual({
    home: '/home/u',
    reefHome: '/srv/reef',
    reefSocket: undefined,
    isInJob: false,
    reefJobDir: undefined,
    configHome: '/c',
    dataHome: '/home/u/.local/share',
    stateHome: '/home/u/.local/state',
    cacheHome: '/home/u/.cache',
    runtimeDir: '/run/user/1000',
    path: '/bin',
    shell: '/bin/zsh',
    noColor: true,
    all,
  });
});

test('colour follows its conventions', () => {
  const flags = [{ NO_COLOR: '' }, { TERM: 'dumb' }, { NO_COLOR: '1' }, {}].map((all) => readEnvironment(all).noColor);
  expect(flags).toEqual([false, true, true, false]);
});

test('the copy cannot be changed, and does not follow later changes', () => {
  const source: NodeJS.ProcessEnv = { PATH: '/a' };
  const { all } = readEnvironment(source);
  source.PATH = '/b';
  expect([all.PATH, Object.isFrozen(all), readEnvironment().all.PATH]).toEqual(['/a', true, readEnvironment().path]);
});
