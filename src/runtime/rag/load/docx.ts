import { inflateRawSync } from 'node:zlib';
import { ReefError, toReefError } from '../../../protocol/errors.ts';
import { roomFor } from './command-loader.ts';

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const STORED = 0;
const DEFLATED = 8;

/** A match never crosses a `<`, so that a million open tags cannot make it slow. */
const RUNS = /<w:t(?: [^<>]*)?>([^<]*)<\/w:t>|<w:(tab|br|cr)\b[^<>]*\/>/g;

/** The text of a Word document's main part, with its headings. */
export function docxToText(file: Uint8Array): string {
  const xml = readEntry(Buffer.from(file), 'word/document.xml').toString('utf8');
  const paragraphs = xml.split('</w:p>').slice(0, -1);
  return paragraphs.map(paragraphText).join('\n\n');
}

function paragraphText(paragraph: string): string {
  const [, level] = /<w:pStyle w:val="Heading([1-6])"/i.exec(paragraph) ?? [];
  let text = level ? `${'#'.repeat(Number(level))} ` : '';
  for (const [, run, tag] of paragraph.matchAll(RUNS)) {
    if (run !== undefined) text += unescapeXml(run);
    else text += tag === 'tab' ? '\t' : '\n';
  }
  return text;
}

function unescapeXml(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');
}

/** Reads one file of a zip archive. */
function readEntry(zip: Buffer, wanted: string): Buffer {
  const end = zip.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]));
  if (end < 0 || zip.readUInt32LE(end) !== END_OF_DIRECTORY || end + 22 > zip.length)
    throw broken('it is not a zip archive');
  let at = zip.readUInt32LE(end + 16);
  for (let count = zip.readUInt16LE(end + 10); count > 0; count -= 1) {
    if (at + 46 > zip.length || zip.readUInt32LE(at) !== DIRECTORY_ENTRY) throw broken('its directory is damaged');
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.toString('utf8', at + 46, at + 46 + nameLength) === wanted) return inflate(zip, at);
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw broken(`there is no ${wanted} in it`);
}

function inflate(zip: Buffer, entry: number): Buffer {
  const method = zip.readUInt16LE(entry + 10);
  const size = zip.readUInt32LE(entry + 20);
  const header = zip.readUInt32LE(entry + 42);
  if (header + 30 > zip.length) throw broken('its directory is damaged');
  const start = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
  const data = zip.subarray(start, start + size);
  if (method === STORED) return data;
  if (method !== DEFLATED) throw broken(`it is packed by method ${method}`);
  try {
    return inflateRawSync(data, { maxOutputLength: roomFor(zip.length) });
  } catch (error) {
    throw broken(`it cannot be unpacked: ${toReefError(error).message}`);
  }
}

function broken(why: string): ReefError {
  return new ReefError('loader_failed', `Not a Word document: ${why}`);
}
