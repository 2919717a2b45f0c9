import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import type { AgentSpec } from '../agent-spec/spec.ts';
import { textOf, userText } from '../models/message.ts';
import type { AppState } from '../state/app-state.ts';
import type { Summarise } from './supervisor.ts';

const PROMPT = `You shorten the report of an agent for the agent that asked for it. Keep what was done, what was found, with paths,
names, numbers and open questions, in the words of the report. Add nothing. Answer with the shortened report alone.`;
const HEAD = 2_000;

export interface SummaryParts {
  app: Pick<AppState, 'models'>;
  spec: AgentSpec;
  /** The model the agent itself speaks with. */
  modelId(): string;
  /** Where whole outputs lie: read without asking. */
  dir: string;
}

/** Long results by a model, the whole of it in a file. Without a summary the beginning has to do. */
export function createSummariser({ app, spec, modelId, dir }: SummaryParts): Summarise {
  return async ({ id, agent }, output, signal) => {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const full_output = join(dir, `agent-${id}.txt`);
    await writeAtomic(full_output, output);
    try {
      const model = app.models.find(spec.summarization_model ?? modelId(), 'chat');
      const reply = await app.models.client(model).chat({
        model,
        messages: [{ role: 'system', content: PROMPT }, userText(`Report of ${agent}:\n\n${output}`)],
        ...{ temperature: null, top_p: null, max_output_tokens: null, stream: false, signal },
      });
      const text = textOf({ role: 'assistant', content: reply.content }).trim();
      if (text !== '') return { output: text, full_output };
    } catch (error) {
      if (signal.aborted) throw error;
    }
    return { output: `${output.slice(0, HEAD)}\n[… ${output.length - HEAD} characters more]`, full_output };
  };
}
