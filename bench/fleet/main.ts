import { runBenches } from '../run-benches.ts';
import { benchEngines } from './engines.ts';
import { benchKills, benchTakeOver } from './faults.ts';
import { benchReading } from './reading.ts';
import { benchThroughput } from './throughput.ts';

await runBenches({
  throughput: benchThroughput,
  engines: benchEngines,
  'take-over': benchTakeOver,
  kills: benchKills,
  reading: benchReading,
});
