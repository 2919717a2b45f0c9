/** A command as a person writes it: plain words are a program and its arguments, anything else is a line for a shell. */
export function commandFrom(text: string): string[] {
  const isPlain = /^[\w@%+=:,./ -]+$/.test(text) && !/^ *\w+=/.test(text);
  return isPlain ? text.split(' ').filter((word) => word !== '') : ['sh', '-c', text];
}
