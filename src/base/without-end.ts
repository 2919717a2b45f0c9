/**
 * A text less those of its last characters that are among the given ones. The expression for it, `/[…]+$/`, would look at a long run of them again
 * from each of its characters.
 */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
