/** The event stream is read with fetch, because an EventSource cannot send a token. */

export interface StreamMessage {
  event: string;
  data: string;
  /** A cursor: the stream can be taken up again after it. */
  id?: string;
}

/** A stream that says nothing for so long has broken without telling: the server writes a comment every 15 s. */
const SILENCE_MS = 40_000;

export async function* readMessages(response: Response, cancel: () => void): AsyncGenerator<StreamMessage> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const silence = setTimeout(cancel, SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const message = parseBlock(block);
      if (message) yield message;
    }
  }
}

function parseBlock(block: string): StreamMessage | undefined {
  const message: StreamMessage = { event: 'message', data: '' };
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) message.event = line.slice(6).trim();
    if (line.startsWith('id:')) message.id = line.slice(3).trim();
    if (line.startsWith('data:')) message.data += (message.data ? '\n' : '') + line.slice(5).trimStart();
  }
  return message.data === '' ? undefined : message;
}
