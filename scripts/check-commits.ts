/**
 * Commit subjects of a change: imperative, at most 72 characters. Only commits that `origin/main` does not have count, and
 * only those made since the rule: the history before it is exempt. A clone too shallow to know either is not judged.
 */
import { execFileSync } from 'node:child_process';

const SINCE = '091fc9a4b3453aa987e67b9cd2f2f7d726cf11b8';
const LONGEST = 72;

/** Verbs that look like another form. */
const IMPERATIVE = /^(Alias|Bias|Bring|Embed|Focus|Need|Seed|Shed|Speed)$/;
const OTHER_FORM = /(ed|ing|[^s]s)$/;
const NO_VERB =
  /^(A|After|All|An|And|Any|As|At|Before|Both|But|By|Each|Every|For|From|He|How|I|If|In|It|No|Not|Nothing|Now|Of|On|One|Only|Or|Our|She|So|Some|That|The|Their|There|These|They|This|Those|To|We|What|When|Where|Whether|Which|Who|Whoever|Why|With|Without|You)$/;

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

function isKnown(revision: string): boolean {
  try {
    return git('rev-parse', '--verify', '--quiet', `${revision}^{commit}`) !== '';
  } catch {
    return false;
  }
}

export function faultOf(subject: string): string | undefined {
  const [word = ''] = subject.split(/[\s:,]/, 1);
  if (subject.length > LONGEST) return `${subject.length} characters, at most ${LONGEST}`;
  if (!/^[A-Z][a-z-]+$/.test(word)) return 'begins with no capitalised verb';
  if (NO_VERB.test(word) || (OTHER_FORM.test(word) && !IMPERATIVE.test(word))) return `"${word}" is no imperative`;
  return undefined;
}

function main(): void {
  const known = ['origin/main', SINCE].filter(isKnown);
  if (known.length === 0) {
    process.stdout.write('no commit to compare with: not judged\n');
    return;
  }
  const lines = git('log', '--no-merges', '--format=%h %s', 'HEAD', '--not', ...known).split('\n');
  const wrong = lines.flatMap((line) => {
    const subject = line.slice(line.indexOf(' ') + 1);
    const fault = subject === '' ? undefined : faultOf(subject);
    return fault === undefined ? [] : [`${line}\n    ${fault}`];
  });
  process.stdout.write(wrong.map((each) => `${each}\n`).join(''));
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

if (import.meta.main) main();
