import type { Random } from './random.ts';

const VERBS =
  'apply build check collect compute convert create decode emit encode fetch filter find format group handle load map merge normalize parse read reduce render resolve round schedule select split store sum track update validate write'.split(
    ' ',
  );
const NOUNS =
  'account amount batch branch buffer cache cart catalog channel customer deadline discount document entry event field filter group handler header index interval invoice item job key ledger line limit log margin message meter order page parcel payment period policy price profile query quota rate receipt record region report request reservation result route row rule schedule segment session shipment slot snapshot source span stock summary table target tariff tax ticket token total transfer unit usage voucher warehouse window'.split(
    ' ',
  );
const QUALITIES =
  'active annual base billed closed combined cross current daily default draft effective empty exact external final first flat global gross half hidden initial inner last late local lower manual merged minor monthly nested net next open outer partial pending plain prior raw recent rounded shared signed single stale static total upper valid weekly zero'.split(
    ' ',
  );
const LINKS =
  'the value of|which is used by|before it reaches|so that|instead of|when there is no|as soon as|because of|together with|after the call to|depending on|without touching|inside|next to|compared with'.split(
    '|',
  );
const OPENINGS =
  'Let me look at|I will check|The problem seems to be in|Now I need to understand|It looks like|The next step is to change|I should verify|This confirms that|Before editing I want to see|The failing assertion points to|Next I will run|That is odd:|I can now update|To be safe I will re-read|The output shows'.split(
    '|',
  );

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);

/** `roundHalfEvenTotal`: what a function is called. */
export function functionName(random: Random): string {
  const quality = random.isLucky(0.5) ? capital(random.pick(QUALITIES)) : '';
  return `${random.pick(VERBS)}${quality}${capital(random.pick(NOUNS))}${random.isLucky(0.3) ? capital(random.pick(NOUNS)) : ''}`;
}

export function valueName(random: Random): string {
  return `${random.pick(QUALITIES)}${capital(random.pick(NOUNS))}`;
}

export function typeName(random: Random): string {
  return `${capital(random.pick(QUALITIES))}${capital(random.pick(NOUNS))}`;
}

export function constantName(random: Random): string {
  return `${random.pick(QUALITIES)}_${random.pick(NOUNS)}`.toUpperCase();
}

export function noun(random: Random): string {
  return random.pick(NOUNS);
}

/** A sentence of an agent thinking; names of the code stand where nouns would. */
export function sentence(random: Random, names: readonly string[]): string {
  const thing = () =>
    names.length > 0 && random.isLucky(0.2)
      ? `\`${random.pick(names)}\``
      : `the ${random.pick(QUALITIES)} ${random.pick(NOUNS)}`;
  const parts = [random.pick(OPENINGS), thing()];
  for (let more = random.between(1, 3); more > 0; more--) parts.push(random.pick(LINKS), thing());
  return `${parts.join(' ')}.`;
}

/** Of roughly that many tokens; names and long words make it somewhat fewer. */
export function prose(random: Random, tokens: number, names: readonly string[]): string {
  const sentences: string[] = [];
  for (let left = tokens; left > 0; ) {
    const next = sentence(random, names);
    sentences.push(next);
    left -= next.length / 4.6;
  }
  return sentences.join(' ');
}
