/** What each part of the ranking counts. The ablation of `npm run bench:retrieval` sets one after the other to zero. */
export interface Weights {
  /** Saturation, and how much length counts. */
  k1: number;
  b: number;
  body: number;
  name: number;
  container: number;
  path: number;
  /** The score of the whole file, added to that of each unit in it. */
  file: number;
  /** A name that the question writes as it is defined. */
  exact: number;
  /** What a good unit calls, and what calls it. */
  calls: number;
  /** How much of the question is in the unit and its file. */
  coverage: number;
  /** Tests, examples and generated files, unless the question asks for them. */
  tests: number;
  /** Types and values beside functions. */
  types: number;
  values: number;
  /** The share of the budget for whole bodies; signatures get the rest. */
  bodies: number;
  /** One body costs at most this share; of a larger one the head and the lines that match are shown. */
  largest: number;
}

export const WEIGHTS: Weights = {
  k1: 1.5,
  b: 0.5,
  body: 1,
  name: 3,
  container: 1.2,
  path: 1,
  file: 0.5,
  exact: 1,
  calls: 0.15,
  coverage: 0.5,
  tests: 0.25,
  types: 0.6,
  values: 0.5,
  bodies: 0.8,
  largest: 0.4,
};
