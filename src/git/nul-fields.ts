/** The fields of `-z` output, one at a time: a listing of a million paths is never a million strings at once. */
export function* nulFields(output: Buffer): Generator<Buffer> {
  for (let from = 0; from < output.length; ) {
    const end = output.indexOf(0, from);
    if (end === -1) throw new Error('git ended its output inside a field');
    yield output.subarray(from, end);
    from = end + 1;
  }
}
