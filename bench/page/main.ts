import { runBenches } from '../run-benches.ts';
import { benchBack, benchStorm } from './live.ts';
import { benchLoad, benchWeight } from './load.ts';
import { benchMemory, benchTimeline } from './timeline.ts';

await runBenches({
  weight: benchWeight,
  load: benchLoad,
  timeline: benchTimeline,
  memory: benchMemory,
  storm: benchStorm,
  back: benchBack,
});
