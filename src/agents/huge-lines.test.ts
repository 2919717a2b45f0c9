import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { claudeAdapter } from './claude/adapter.ts';
import { ingest, RawOutput } from './ingest.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const prose = (size: number) => 'The quick brown fox "jumps" over\nthe lazy dog. '.repeat(size / 48 + 1).slice(0, size);
const said = (content: unknown[]) => ({ type: 'assistant', message: { id: 'm', role: 'assistant', content } });
const used = (input: unknown) => said([{ type: 'tool_use', id: 't', name: 'Write', input }]);
const listOf = <T>(length: number, make: (n: number) => T) => Array.from({ length }, (_, n) => make(n));

/** Lines of about a size, each expensive in another way. */
const SHAPES: Record<string, (size: number) => unknown> = {
  'one text': (size) => said([{ type: 'text', text: prose(size) }]),
  'an edit': (size) => used({ file_path: '/x', content: prose(size) }),
  escapes: (size) => said([{ type: 'text', text: '\u0001\n"'.repeat(size / 10) }]),
  'short texts': (size) => used({ list: listOf(size / 9, (n) => `a${n % 1000}`) }),
  'small objects': (size) => used({ list: listOf(size / 16, (n) => ({ [`k${n % 97}`]: n })) }),
  names: (size) => used(Object.fromEntries(listOf(size / 16, (n) => [`k${n}`, n]))),
  calls: (size) => said(listOf(size / 80, (n) => ({ type: 'tool_use', id: `t${n}`, name: 'X', input: {} }))),
  'a question': (size) => ({
    ...{ type: 'control_request', request_id: `r${size}` },
    request: {
      subtype: 'can_use_tool',
      tool_name: 'Write',
      input: { file_path: '/x', content: prose(size) },
      tool_use_id: 't',
    },
  }),
};

/** How long the daemon is held up by the line at most, and how often it may look at other things while it reads it. */
async function costOf(storage: TestStorage, line: string) {
  const [out, err] = [join(storage.dir, 'out'), join(storage.dir, 'err')];
  writeFileSync(out, `${line}\n`);
  writeFileSync(err, '');
  let heldUp = Number.POSITIVE_INFINITY;
  let looks = 0;
  for (const round of [1, 2]) {
    storage.addJob(`${line.length} ${line.slice(0, 9)} ${round}`);
    const raw = new RawOutput({ out, err }, { out: 0, err: 0 });
    let isReading = true;
    looks = 0;
    const look = () => {
      looks++;
      if (isReading) setImmediate(look);
    };
    setImmediate(look);
    const batch = await raw.next();
    isReading = false;
    expect(batch.out).toHaveLength(1);
    const begun = performance.now();
    storage.change(`${line.length} ${line.slice(0, 9)} ${round}`, (tx) => ingest(tx, claudeAdapter, batch));
    heldUp = Math.min(heldUp, performance.now() - begun);
    await raw.close();
  }
  return { heldUp, looks };
}

verifies('X-139').test(
  'a line thirty times as long holds the daemon up hardly longer, and is read in pieces',
  async () => {
    const found: [string, number, number][] = [];
    for (const [shape, make] of Object.entries(SHAPES)) {
      const storage = new TestStorage(manualClock());
      const short = await costOf(storage, JSON.stringify(make(240 * KIB)));
      const long = await costOf(storage, JSON.stringify(make(7.2 * MIB)));
      storage.close();
      found.push([shape, long.heldUp / short.heldUp, long.looks]);
    }
    // A line is whole up to 256 KiB; a longer one is at most twice that when it is understood.
    expect(found.filter(([, ratio]) => ratio > 8)).toEqual([]);
    expect(found.filter(([, , looks]) => looks < 25)).toEqual([]);
  },
);
