/** Counts parentheses outside quotes; a comment or a case inside may mislead it, and then the rest does not parse. */
export function closingParenthesis(line: string, start: number): number | undefined {
  let depth = 1;
  for (let at = start; at < line.length; at++) {
    const character = line[at];
    if (character === '\\') at++;
    else if (character === "'" || character === '"') {
      const end = endOfQuote(line, at);
      if (end === undefined) return undefined;
      at = end;
    } else if (character === '(') depth++;
    else if (character === ')' && --depth === 0) return at;
  }
  return undefined;
}

function endOfQuote(line: string, start: number): number | undefined {
  const quote = line[start];
  for (let at = start + 1; at < line.length; at++) {
    if (quote === '"' && line[at] === '\\') at++;
    else if (line[at] === quote) return at;
  }
  return undefined;
}
