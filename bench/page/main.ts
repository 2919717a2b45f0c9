import { runBenches } from '../run-benches.ts';
import { benchMemory, benchTimeline } from './timeline.ts';

await runBenches({ timeline: benchTimeline, memory: benchMemory });
