import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Soak, type SoakFigures } from './soak.ts';

/**
 * npm run soak -- --hours N [--tasks 20] [--kill-every 5]: two homes under the same load, side by side. In one the daemon is killed every five minutes, that
 * of the other lives to the end. Figures as JSON at the end; the exit code says whether the promises were kept.
 */

const { values } = parseArgs({
  options: {
    hours: { type: 'string', default: '1' },
    tasks: { type: 'string', default: '20' },
    'kill-every': { type: 'string', default: '5' },
    parent: { type: 'string', default: '/var/tmp' },
    out: { type: 'string' },
  },
});
const minutes = 60 * Number(values.hours);
if (!(minutes > 0)) {
  console.error(`--hours is a number above 0, not ${values.hours}`);
  process.exit(2);
}

const home = (name: string, killEveryMinutes?: number) => {
  const say = (line: string) => console.log(`${name.padEnd(6)} ${line}`);
  const tasksAMinute = Number(values.tasks);
  const spec = {
    minutes,
    tasksAMinute,
    parent: values.parent,
    say,
    ...(killEveryMinutes !== undefined && { killEveryMinutes }),
  };
  return new Soak(spec).run();
};
// Each clears away what is its own before the failure of the other ends this process.
const [first, second] = await Promise.allSettled([home('killed', Number(values['kill-every'])), home('steady')]);
if (first.status === 'rejected') throw first.reason;
if (second.status === 'rejected') throw second.reason;
const [killed, steady] = [first.value, second.value];
const missed = [...faults('killed', killed), ...faults('steady', steady)];
const report = `${JSON.stringify({ killed, steady, missed }, null, 2)}\n`;
console.log(report);
if (values.out !== undefined) writeFileSync(values.out, report);
process.exitCode = missed.length > 0 ? 1 : 0;

/** Of less than half an hour no slope is told: too much of it is warming up. */
function faults(name: string, figures: SoakFigures): string[] {
  const { wrong, refused, readers, leftovers, descriptors, rssMbAnHour = 0, kibATask } = figures;
  const unread = readers.filter(({ lost, repeated }) => lost + repeated > 0);
  const hasGrown = kibATask.second > 1.2 * kibATask.first;
  const all = [
    ...wrong,
    ...refused,
    ...leftovers,
    ...unread.map((reader) => `${reader.name}: ${reader.lost} lost, ${reader.repeated} repeated`),
    ...(descriptors.last > descriptors.first + 5
      ? [`${descriptors.first} descriptors became ${descriptors.last}`]
      : []),
    ...(minutes >= 30 && rssMbAnHour >= 2 ? [`memory grows by ${rssMbAnHour.toFixed(1)} MB an hour`] : []),
    ...(minutes >= 30 && hasGrown
      ? [`a task takes ${kibATask.second.toFixed(1)} KiB, at first ${kibATask.first.toFixed(1)}`]
      : []),
  ];
  return all.map((what) => `${name}: ${what}`);
}
