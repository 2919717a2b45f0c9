export interface Figure {
  system: string;
  budget: number;
  file: boolean;
  named: boolean;
  body: boolean;
  tokens: number;
  ms: number;
}

/** What part of the questions each system answers, at each budget. */
export function report(title: string, figures: readonly Figure[]): void {
  const systems = [...new Set(figures.map(({ system }) => system))];
  const budgets = [...new Set(figures.map(({ budget }) => budget))].sort((a, b) => a - b);
  const [first] = figures;
  const count = figures.filter(({ system, budget }) => system === first?.system && budget === first.budget).length;
  console.log(`\n${title}: ${count} questions`);
  console.log(`  ${'tokens'.padStart(6)}  ${''.padEnd(40)}  file  named   body    used     ms`);
  for (const budget of budgets) {
    for (const system of systems) {
      const rows = figures.filter((each) => each.system === system && each.budget === budget);
      if (rows.length === 0) continue;
      const share = (of: 'file' | 'named' | 'body') => (rows.filter((row) => row[of]).length / rows.length).toFixed(2);
      const mean = (of: 'tokens' | 'ms') => Math.round(rows.reduce((sum, row) => sum + row[of], 0) / rows.length);
      const shares = [share('file'), share('named'), share('body')].map((each) => each.padStart(5)).join('  ');
      const means = [mean('tokens'), mean('ms')].map((each) => `${each}`.padStart(6)).join(' ');
      console.log(
        `  ${(budget === 0 ? 'its own' : `${budget}`).padStart(7)}  ${system.padEnd(40)} ${shares}  ${means}`,
      );
    }
  }
}
