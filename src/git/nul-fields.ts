import { ReefError } from '../protocol/errors.ts';

/** The fields of `-z` output, one at a time: a listing of a million paths is never a million strings at once. */
export function* nulFields(output: Buffer): Generator<Buffer, undefined> {
  for (let from = 0; from < output.length; ) {
    const end = output.indexOf(0, from);
    if (end === -1) throw endedEarly();
    yield output.subarray(from, end);
    from = end + 1;
  }
}

/** A field that must be there. Bytes that are not UTF-8 come out as replacement characters. */
export function nextField(fields: Generator<Buffer, undefined>): string {
  const field = fields.next().value;
  if (field === undefined) throw endedEarly();
  return field.toString('utf8');
}

function endedEarly(): ReefError {
  return new ReefError('git_failed', 'git ended its output early.');
}
