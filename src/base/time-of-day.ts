/** A moment for a person, in their own time: `14:05`, and on another day `Nov 20, 14:05`. */
export function timeOfDay(moment: Date, now: Date): string {
  const pad = (n: number) => String(n).padStart(2, '0');
  const time = `${pad(moment.getHours())}:${pad(moment.getMinutes())}`;
  if (moment.toDateString() === now.toDateString()) return time;
  return `${moment.toDateString().slice(4, 10)}, ${time}`;
}
