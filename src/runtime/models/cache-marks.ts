import type { SdkMessage, SdkOptions, SdkPrompt } from './sdk-types.ts';

/** A request with more is refused. */
const MOST = 4;
/** From a mark the provider looks back over some twenty blocks for a prompt that it has seen. */
const APART = 18;

/** One block as the provider counts them: a system message, or one part of another message. */
interface Block {
  message: number;
  part?: number;
}

/**
 * Marks the system text, the end, and on the way back from the end one block in eighteen: a turn may add more blocks
 * than the provider looks back over. The task, which a new snapshot leaves as it is, gets a mark that is left over.
 */
export function markForCache(prompt: SdkPrompt, mark: SdkOptions): SdkPrompt {
  const blocks = prompt.flatMap(blocksOf);
  const system = blocks.findLastIndex(({ message }) => prompt[message]?.role === 'system');
  const marked = new Set(system === -1 ? [] : [system]);
  for (const block of backwards(prompt, blocks, system)) {
    if (marked.size < MOST) marked.add(block);
  }
  const task = blocks.findIndex(({ message }) => prompt[message]?.role === 'user');
  if (task !== -1 && marked.size < MOST) marked.add(task);
  return [...marked].reduce((result, index) => withMark(result, blocks[index] as Block, mark), prompt);
}

function blocksOf(message: SdkMessage, index: number): Block[] {
  return message.role === 'system'
    ? [{ message: index }]
    : message.content.map((_, part) => ({ message: index, part }));
}

function* backwards(prompt: SdkPrompt, blocks: readonly Block[], system: number): Generator<number> {
  const takesMark = ({ message, part }: Block) => partAt(prompt, message, part)?.type !== 'reasoning';
  let last = blocks.findLastIndex(takesMark);
  while (last > system) {
    yield last;
    const farthest = Math.max(system, last - APART);
    const next = blocks.findIndex((block, index) => index >= farthest && takesMark(block));
    last = next < last ? next : -1;
  }
}

function partAt(prompt: SdkPrompt, message: number, part: number | undefined) {
  const { content } = prompt[message] as SdkMessage;
  return typeof content === 'string' || part === undefined ? undefined : content[part];
}

function withMark(prompt: SdkPrompt, { message, part }: Block, mark: SdkOptions): SdkPrompt {
  return prompt.map((old, index) => {
    if (index !== message) return old;
    if (old.role === 'system') return { ...old, providerOptions: mark };
    const content = old.content.map((item, at) =>
      at === part ? { ...item, providerOptions: { ...item.providerOptions, ...mark } } : item,
    );
    return { ...old, content } as SdkMessage;
  });
}
