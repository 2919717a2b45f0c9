import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Corpus } from './corpus.ts';
import type { LastingServer } from './lasting-server.ts';

const SWITCHES = 10;
const ASKED = 60;
const EDITED_EVERY = 50;

/** What a server's memory is to be looked at after: branch to branch and back, many questions at once on each (C-125). */
export async function switches(corpus: Corpus, client: LastingServer): Promise<void> {
  const main = corpus.git('rev-parse', '--abbrev-ref', 'HEAD');
  corpus.git('checkout', '-q', '-b', 'bench-other');
  for (let at = 0; at < corpus.files.length; at += EDITED_EVERY)
    appendFileSync(join(corpus.checkout, corpus.files[at] ?? ''), '\n\n');
  corpus.git('commit', '-q', '-a', '-m', 'other');
  const { symbols } = await client.call('find_symbols', { query: 'e', limit: 50 });
  const names = symbols.map(({ name }) => name);
  const questions = [
    (name: string) => client.call('get_symbol', { name }),
    (name: string) => client.call('find_symbols', { query: name }),
    (name: string) => client.call('code_search', { query: name }),
    (name: string) => client.call('get_symbol_references', { name }),
  ];
  for (let turn = 0; turn < SWITCHES; turn++) {
    corpus.git('checkout', '-q', turn % 2 === 0 ? main : 'bench-other');
    const asked = Array.from({ length: ASKED }, (_, at) =>
      questions[at % questions.length]?.(names[(turn + at) % names.length] ?? ''),
    );
    await Promise.all(asked);
    await client.call('explore_code', { question: `what calls ${names[turn]} and why` });
  }
  corpus.git('checkout', '-q', main);
}
