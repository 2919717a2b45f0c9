import { benchCopies } from './copies.ts';
import { benchEvents, benchLoad } from './events.ts';
import { benchMcp } from './mcp.ts';
import { runBenches } from './run-benches.ts';
import { benchSpawn } from './spawn.ts';
import { benchStart } from './start.ts';
import { benchStored } from './stored.ts';
import { benchTurn } from './turn.ts';
import { benchWorkflow } from './workflow.ts';

await runBenches({
  start: benchStart,
  spawn: benchSpawn,
  copies: benchCopies,
  turn: benchTurn,
  mcp: benchMcp,
  events: benchEvents,
  load: benchLoad,
  stored: benchStored,
  workflow: benchWorkflow,
});
