/** Runs the benches named on the command line, or all; a promise that was missed is the exit code. */
export async function runBenches(benches: Readonly<Record<string, () => Promise<boolean>>>): Promise<void> {
  const wanted = process.argv.slice(2);
  const unknown = wanted.filter((name) => !Object.hasOwn(benches, name));
  if (unknown.length > 0) {
    console.error(`no such bench: ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`);
    process.exit(2);
  }
  let isMet = true;
  for (const [name, bench] of Object.entries(benches)) {
    if (wanted.length === 0 || wanted.includes(name)) isMet = (await bench()) && isMet;
  }
  console.log(isMet ? '\nall promises kept' : '\na promise was missed: see ✗');
  process.exitCode = isMet ? 0 : 1;
}
