/** `*` is any text, `?` one character. Two pointers and one step back, so that no pattern can make it slow. */
export function wildcardMatch(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  let star = -1;
  let resume = 0;
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star === -1) return false;
    else {
      p = star + 1;
      t = ++resume;
    }
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
