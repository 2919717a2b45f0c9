import { deflateSync } from 'node:zlib';

interface PdfParts {
  /** Into the catalogue, as it stands in a PDF. */
  catalogue?: string;
  trailer?: string;
  /** The page tree holds itself. */
  isCircular?: boolean;
  /** From line to line; what leaves the page is no text of it. */
  leading?: number;
}

/** A PDF as programs write them: pages of lines, packed streams, a table of where each object begins. */
export function makePdf(pages: readonly (readonly string[])[], parts: PdfParts = {}): Buffer {
  const kids = pages.map((_, n) => `${4 + 2 * n} 0 R`).join(' ');
  return pdfOf(
    [
      object(`<< /Type /Catalog /Pages 2 0 R ${parts.catalogue ?? ''} >>`),
      object(`<< /Type /Pages /Kids [${kids}${parts.isCircular ? ' 2 0 R' : ''}] /Count ${pages.length} >>`),
      object('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'),
      ...pages.flatMap((lines, n) => [
        object(
          `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + 2 * n} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        ),
        stream(
          `BT /F1 12 Tf 72 720 Td ${lines.map((line) => `(${line}) Tj 0 -${parts.leading ?? 16} Td`).join(' ')} ET`,
        ),
      ]),
    ],
    parts.trailer,
  );
}

const object = (text: string) => Buffer.from(text, 'latin1');

function stream(text: string): Buffer {
  const packed = deflateSync(text);
  return Buffer.concat([
    object(`<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n`),
    packed,
    object('\nendstream'),
  ]);
}

function pdfOf(objects: readonly Buffer[], trailer = ''): Buffer {
  const parts: Buffer[] = [object('%PDF-1.4\n')];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  const add = (part: Buffer) => {
    parts.push(part);
    length += part.length;
  };
  for (const [n, each] of objects.entries()) {
    offsets.push(length);
    add(Buffer.concat([object(`${n + 1} 0 obj\n`), each, object('\nendobj\n')]));
  }
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  const end = `trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${length}\n%%EOF\n`;
  add(object(`xref\n0 ${size}\n0000000000 65535 f \n${table}${end}`));
  return Buffer.concat(parts);
}
