import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { readRequestAt } from '../base/line-reader.ts';
import type { Json, MachineFacts } from './adapter.ts';
import { claudeAdapter } from './claude/adapter.ts';
import { ingest, RawOutput } from './ingest.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const content = 'The quick brown fox "jumps" over\nthe lazy dog. '.repeat((18 * MIB) / 48);
const SAID = { type: 'assistant', message: { id: 'm', role: 'assistant', content: [{ type: 'text', text: content }] } };
const ASKED = {
  type: 'control_request',
  request_id: 'r1',
  request: { subtype: 'can_use_tool', tool_name: 'Write', input: { file_path: '/x', content }, tool_use_id: 't' },
};
const REQUEST = { jobId: 'J', cwd: '/', freshSessionId: 's', prompt: '', clientVersion: '1.0.0' };
const FACTS: MachineFacts = { command: ['claude'], version: '2.1.325', agentSandbox: true, settings: {} };

verifies('A-53', 'X-60').test(
  'a request over 16 MiB is denied with the reason at once, whatever is allowed, and nobody is asked',
  async () => {
    const storage = new TestStorage(manualClock());
    const [out, err] = [join(storage.dir, 'out'), join(storage.dir, 'err')];
    const next = { type: 'system', subtype: 'init', session_id: 's', cwd: '/', model: 'm' };
    writeFileSync(out, [SAID, ASKED, next].map((each) => `${JSON.stringify(each)}\n`).join(''));
    writeFileSync(err, '');
    storage.addJob('J', { yes: true }, { adapter: claudeAdapter.initial(REQUEST, FACTS) as unknown as Json });
    const raw = new RawOutput({ out, err }, { out: 0, err: 0 });
    for (;;) {
      const batch = await raw.next();
      if (batch.out.length === 0) break;
      storage.change('J', (tx) => ingest(tx, claudeAdapter, batch));
    }
    await raw.close();
    const told = storage
      .events('J')
      .map(({ type, payload }) => [type, 'code' in payload ? payload.code : 'kind' in payload && payload.kind]);
    const [answer] = storage.mail('J').filter(({ kind }) => kind === 'answer');
    if (answer?.kind !== 'answer') throw new Error('no answer');
    const { requestId, answers, line } = answer;
    const requestLine = await readRequestAt(out, line);
    const state = storage.record('J').runtime.adapter;
    const encoded = claudeAdapter.encode(state as never, { kind: 'answer', requestId, answers, requestLine });
    storage.close();
    expect(told).toEqual([
      ['error', 'bad_line'],
      ['needs_input', 'permission'],
      ['error', 'question_too_large'],
      ['progress', 'auto_answered'],
      ['progress', 'session'],
    ]);
    expect(requestLine.length).toBeLessThan(512 * KIB);
    expect('lines' in encoded && encoded.lines.map((text) => JSON.parse(text).response)).toEqual([
      {
        subtype: 'success',
        request_id: 'r1',
        response: { behavior: 'deny', message: expect.stringMatching(/longer than 16 MiB.* smaller parts/) },
      },
    ]);
  },
);
