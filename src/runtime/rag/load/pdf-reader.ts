import { buffer } from 'node:stream/consumers';
import { getDocumentProxy } from 'unpdf';

/** A program that turns the PDF on its input into text. It is a process of its own because a hostile PDF can hang it or fill its memory. */
async function main(room: number): Promise<void> {
  const document = await getDocumentProxy(new Uint8Array(await buffer(process.stdin)), { verbosity: 0 });
  let written = 0;
  for (let number = 1; number <= document.numPages; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const text = items.map((item) => ('str' in item ? `${item.str}${item.hasEOL ? '\n' : ''}` : '')).join('');
    page.cleanup();
    written += text.length;
    if (written > room) throw new Error('it holds more text than a document of its size can');
    process.stdout.write(number === 1 ? text : `\n\n${text}`);
  }
}

try {
  await main(Number(process.argv[2]));
} catch (error) {
  const { name, message } = error as Error;
  process.stderr.write(name === 'PasswordException' ? 'it is locked by a password' : message);
  process.exitCode = 1;
}
