/** The code of an answer, without the words around it: all fenced blocks, or the whole text where there is none (`-c`). */
export function extractCode(text: string): string {
  const blocks: string[] = [];
  let open: { fence: string; lines: string[] } | undefined;
  for (const line of text.split('\n')) {
    const [, fence] = /^\s*(`{3,}|~{3,})/.exec(line) ?? [];
    if (!open) {
      if (fence !== undefined) open = { fence, lines: [] };
    } else if (fence?.startsWith(open.fence) && line.trim() === fence) {
      blocks.push(open.lines.join('\n'));
      open = undefined;
    } else open.lines.push(line);
  }
  if (open) blocks.push(open.lines.join('\n'));
  return blocks.length === 0 ? text.trim() : blocks.join('\n\n');
}
