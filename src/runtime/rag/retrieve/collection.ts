/** The collection searched, as far as a question is read in the light of it. */
export interface Collection {
  /** How telling a word is: rare ones are. */
  rarity(word: string): number;
  /** The word, or where it does not occur those that were probably meant; maybe none. */
  respell(word: string): string[];
}
