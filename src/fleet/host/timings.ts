/** In milliseconds. */
export interface FleetTimings {
  beat: number;
  /** A host that did not beat for this long has lost its runs. A fail-over of the database takes a minute of it. */
  ttl: number;
  /** How often a host with free slots looks for a run, when nobody told it of one. */
  look: number;
  /** A run that waits for a person keeps its slot for this long. */
  park: number;
  /** A database that does not answer for this long is away. */
  silence: number;
  /** For how long a hub that is away is tried, before a person is told. */
  hub: number;
}

const FLEET_TIMINGS: FleetTimings = {
  beat: 5_000,
  ttl: 120_000,
  look: 5_000,
  park: 120_000,
  silence: 35_000,
  hub: 1_800_000,
};

/** Tests and impatient people name some of them: `beat=200,ttl=3000`. */
export function readTimings(text: string | undefined): FleetTimings {
  const named = (text ?? '').split(',').map((each) => each.split('='));
  const known = named.filter(([name = '']) => Object.hasOwn(FLEET_TIMINGS, name));
  return { ...FLEET_TIMINGS, ...Object.fromEntries(known.map(([name, ms]) => [name, Number(ms)])) };
}
