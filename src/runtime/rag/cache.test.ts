import { expect, test } from 'vitest';
import { agent, named, ragWorld } from '../../../test/support/runtime/rag.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createLease, type Lease } from '../../base/lease.ts';
import type { OpenRag } from './cache.ts';
import type { Rag, RagCache } from './rag.ts';

const first = async (rag: Rag | undefined, question: string) => (await rag?.search(question, { top_k: 1 }))?.[0]?.text;

async function worldWith(text: string) {
  const world = ragWorld();
  world.write('docs/a.md', text);
  await world.library.rebuild(named('docs'), { documents: ['docs'] });
  return world;
}

/** The known-bad twin: looks first, and fills in when the disk has answered. */
function lookThenLoad(open: OpenRag): Pick<RagCache, 'load'> {
  const known = new Map<string, Lease<Rag>>();
  return {
    async load(key) {
      const there = known.get(key.name);
      if (there) return there;
      const rag = await open(key, new AbortController().signal);
      if (rag)
        known.set(
          key.name,
          createLease<Rag>(rag, () => rag.close()),
        );
      return known.get(key.name);
    },
  };
}

verifies('D9', 'R-125', 'R-41').test(
  'loads of one key at the same time read the disk once and share one object',
  async () => {
    const world = await worldWith('whales sing');
    const loadedBy = async (cache: Pick<RagCache, 'load'>) => {
      world.opened.length = 0;
      const leases = await Promise.all(Array.from({ length: 4 }, () => cache.load(named('docs'))));
      const objects = new Set(leases.map((lease) => lease?.value)).size;
      return { objects, opened: world.opened.length };
    };
    expect({ ours: await loadedBy(world.cache), twin: await loadedBy(lookThenLoad(world.open)) }).toEqual({
      ours: { objects: 1, opened: 1 },
      twin: { objects: 4, opened: 4 },
    });
  },
);

verifies('R-126', 'R-41').test('an entry that was closed with its last lease is a miss', async () => {
  const world = await worldWith('whales sing');
  const [a, b] = await Promise.all([world.cache.load(named('docs')), world.cache.load(named('docs'))]);
  await a?.release();
  await a?.release();
  const held = await first(b?.value, 'whales');
  await b?.release();
  const closed = await first(b?.value, 'whales').then(
    () => 'open',
    () => 'closed',
  );
  const again = await world.cache.load(named('docs'));
  expect({
    held,
    closed,
    fresh: again?.value !== b?.value,
    found: await first(again?.value, 'whales'),
    opened: world.opened.length,
  }).toEqual({
    held: 'whales sing',
    closed: 'closed',
    fresh: true,
    found: 'whales sing',
    opened: 2,
  });
});

verifies('R-127', 'R-42').test(
  'a rebuild leaves who holds the index unharmed, and the next load is fresh',
  async () => {
    const world = await worldWith('whales sing');
    const holder = await world.cache.load(named('docs'));
    world.write('docs/a.md', 'whales dive');
    await world.library.rebuild(named('docs'));
    world.cache.invalidate(named('docs'));
    const next = await world.cache.load(named('docs'));
    const both = { holder: await first(holder?.value, 'whales'), next: await first(next?.value, 'whales') };
    await holder?.release();
    expect({ both, afterRelease: await first(next?.value, 'whales') }).toEqual({
      both: { holder: 'whales sing', next: 'whales dive' },
      afterRelease: 'whales dive',
    });
  },
);

verifies('R-128', 'R-40').test(
  'an agent and a standalone RAG of one name are two, and one is invalidated without the other',
  async () => {
    const world = await worldWith('standalone whales');
    world.write('agents/docs/notes.md', 'agent whales');
    await world.library.rebuild(agent('docs'), { documents: ['notes.md'] });
    const load = async () => {
      const leases = [await world.cache.load(named('docs')), await world.cache.load(agent('docs'))];
      return leases.map((lease) => lease?.value);
    };
    const before = await load();
    world.cache.invalidate(agent('docs'));
    const afterAgent = await load();
    world.cache.invalidate(named('docs'));
    const afterNamed = await load();
    const same = (a: unknown[], b: unknown[]) => a.map((each, index) => each === b[index]);
    expect({
      texts: await Promise.all(before.map((rag) => first(rag, 'whales'))),
      agentRebuilt: same(before, afterAgent),
      namedRebuilt: same(afterAgent, afterNamed),
    }).toEqual({
      texts: ['standalone whales', 'agent whales'],
      agentRebuilt: [true, false],
      namedRebuilt: [false, true],
    });
  },
);

verifies('R-41').test('a key without a definition is undefined, and is looked for again', async () => {
  const world = ragWorld();
  const missing = await world.cache.load(named('none'));
  world.write('docs/a.md', 'now');
  await world.library.rebuild(named('none'), { documents: ['docs'] });
  const found = await world.cache.load(named('none'));
  expect({ missing, found: await first(found?.value, 'now') }).toEqual({ missing: undefined, found: 'now' });
});

test('who gives up waiting leaves at once, and the others get what they wait for', async () => {
  const world = await worldWith('whales sing');
  const impatient = new AbortController();
  const leaving = world.cache.load(named('docs'), impatient.signal).catch((error) => error);
  const staying = world.cache.load(named('docs'));
  impatient.abort('enough');
  expect({ left: await leaving, found: await first((await staying)?.value, 'whales') }).toEqual({
    left: 'enough',
    found: 'whales sing',
  });
});

test('a definition that cannot be read fails every waiter and is tried again', async () => {
  const world = ragWorld();
  world.write('rags/bad.yaml', 'top_k: many\n');
  const failures = await Promise.allSettled([world.cache.load(named('bad')), world.cache.load(named('bad'))]);
  world.write('rags/bad.yaml', 'top_k: 3\n');
  const mended = await world.cache.load(named('bad'));
  expect({
    codes: failures.map((each) => each.status === 'rejected' && each.reason.code),
    settings: mended?.value.settings,
  }).toEqual({ codes: ['rag_invalid', 'rag_invalid'], settings: { top_k: 3, reranker_model: null } });
});
