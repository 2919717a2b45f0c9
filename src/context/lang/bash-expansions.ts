/**
 * Five things of Bash that its grammar reads as errors, which swallow all up to the next quote or brace that fits, functions
 * included. They say nothing about structure, so the parser is shown something plainer of the same length. Every repetition is
 * bounded: a file is any file, and must not make a rule slow.
 */
export function plainExpansions(text: string): string {
  return text
    .replace(PATTERN, plainQuoted)
    .replace(COMPARED, plainQuoted)
    .replace(SUBSCRIPT, '$1 $2 ')
    .replace(GROUP, '   ')
    .replace(SLICE, (found) => found.replaceAll(':$', ': '));
}

/** Without `$` and backquotes: what looks quoted may stand between double quotes, where they are code. */
const QUOTED = "'[^'\"$`\\n]{0,200}'";
const VARIABLE = String.raw`\$\{!?\w{1,80}(?:\[[^\]\n]{0,80}\])?`;
/** `${theme/ '[GTK2/3]'}`: a `/` or `}` in quotes ends no pattern. */
const PATTERN = new RegExp(String.raw`${VARIABLE}[/#%]{1,2}(?:[^'"}\\\n]{0,80}${QUOTED}){1,8}`, 'g');
/** `[[ $x = '( '* ]]` */
const COMPARED = new RegExp(String.raw`[ \t][=!]?=[ \t]{1,9}${QUOTED}`, 'g');
/** `${list[($at - 1)]}` */
const SUBSCRIPT = /(\$\{!?\w{1,80}\[)\(([^()\]\n]{0,80})\)(?=\])/g;
/** `[ \( -d a -o -d b \) ]` */
const GROUP = /[ \t]\\[()](?=\s)/g;
/** `${word:$from:$length}` */
const SLICE = new RegExp(String.raw`${VARIABLE}:\$\w{1,80}(?::\$\w{1,80})?(?=[:}])`, 'g');

function plainQuoted(found: string): string {
  return found.replace(/\$?'([^']*)'/g, (quoted, inside: string) =>
    `'${inside.replace(/\W/g, '_')}'`.padStart(quoted.length, '_'),
  );
}
