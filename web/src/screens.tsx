import { computed } from '@preact/signals';
import { path } from './router.ts';
import type { Screen } from './screen.ts';
import { Now } from './screens/now/now.tsx';

/** Every screen there is; the rail, the keys, the palette and the router are made from this. */
export const screens: readonly Screen[] = [
  { name: 'now', title: 'Now', path: 'now', rail: { icon: 'now', letter: 'n' }, load: () => Now },
  {
    name: 'runs',
    title: 'Runs',
    path: 'runs',
    rail: { icon: 'runs', letter: 'r' },
    load: () => import('./screens/runs/runs.tsx').then(({ Runs }) => Runs),
  },
  {
    name: 'run',
    title: 'Run',
    path: 'runs',
    takesId: true,
    load: () => import('./screens/run/run.tsx').then(({ Run }) => Run),
  },
  {
    name: 'worktrees',
    title: 'Worktrees',
    path: 'worktrees',
    rail: { icon: 'worktrees', letter: 'w' },
    load: () => import('./screens/worktrees/worktrees.tsx').then(({ Worktrees }) => Worktrees),
  },
  {
    name: 'worktree',
    title: 'Worktree',
    path: 'worktrees',
    takesId: true,
    load: () => import('./screens/worktree/worktree.tsx').then(({ Worktree }) => Worktree),
  },
  {
    name: 'new',
    title: 'New task',
    path: 'new',
    load: () => import('./screens/new/new.tsx').then(({ New }) => New),
  },
  {
    name: 'job',
    title: 'Job',
    path: 'jobs',
    takesId: true,
    load: () => import('./screens/job/job.tsx').then(({ Job }) => Job),
  },
  {
    name: 'code',
    title: 'Code',
    path: 'code',
    rail: { icon: 'code', letter: 'c' },
    load: () => import('./screens/code/code.tsx').then(({ Code }) => Code),
  },
  {
    name: 'usage',
    title: 'Usage',
    path: 'usage',
    rail: { icon: 'usage', letter: 'u' },
    load: () => import('./screens/usage/usage.tsx').then(({ Usage }) => Usage),
  },
];

interface Place {
  screen: Screen | undefined;
  id: string | undefined;
}

/** Where we are. `undefined` is an address that leads nowhere. */
export const place = computed((): Place => {
  const [first = '', id, ...rest] = path.value.split('/').filter(Boolean).map(decodeURIComponent);
  const isKnown = (screen: Screen) =>
    screen.path === (first || 'now') && (screen.takesId ?? false) === (id !== undefined) && rest.length === 0;
  return { screen: screens.find(isKnown), id };
});
