import { isRoutine, type RankedUnit } from './units.ts';

/** Calls are followed from and to so many of the best. */
const FOLLOWED = 40;
/** A name that more units have does not tell which is meant. */
const MOST_CALLED = 3;

/** A part of the score of the best goes to what they call and what calls them, if the name is one of few. */
export function followCalls(units: readonly RankedUnit[], share: number): void {
  const routines = units.filter(({ definition }) => isRoutine(definition));
  const byName = Map.groupBy(routines, ({ definition }) => definition.name);
  const best = new Set(units.slice(0, FOLLOWED));
  const gains = new Map<RankedUnit, number>();
  const give = (unit: RankedUnit, gain: number) => gains.set(unit, Math.max(gains.get(unit) ?? 0, gain));
  const link = (caller: RankedUnit, callee: RankedUnit, among: number) => {
    if (best.has(caller)) {
      give(callee, (caller.score * share) / Math.sqrt(among));
      caller.callees.push(nameOf(callee));
    }
    if (!best.has(callee)) return;
    give(caller, (callee.score * share) / 2);
    if (!caller.isAside) callee.callers.push(nameOf(caller));
  };
  for (const caller of units) {
    for (const name of new Set(caller.calls)) {
      const callees = meantBy(byName.get(name) ?? [], caller);
      for (const callee of callees) link(caller, callee, callees.length);
    }
  }
  for (const [unit, gain] of gains) unit.score += gain;
}

/** The units of a name that a caller may mean: those of its own file, else all if they are few. */
function meantBy(named: readonly RankedUnit[], caller: RankedUnit): RankedUnit[] {
  const near = named.filter((unit) => unit !== caller && unit.file === caller.file);
  if (near.length > 0) return near.length <= MOST_CALLED ? near : [];
  return named.length <= MOST_CALLED && !named.includes(caller) ? [...named] : [];
}

/** As people write it. */
export function nameOf({ definition: { name, container } }: Pick<RankedUnit, 'definition'>): string {
  return container === undefined ? name : `${container}.${name}`;
}
