import type { InboxEntry, JobView } from '../../../src/protocol/job-operations.ts';
import { firstLine, plain } from '../format.ts';
import { announce } from './announce.ts';
import { notifies } from './settings.ts';

/** Spoken to those who do not see the page, and shown by the browser to those who look at something else. */
export function tellQuestion({ agent, question, runId, jobId }: InboxEntry): void {
  const asks = runId === jobId ? 'A run halted' : `${plain(agent)} asks`;
  tell(asks, plain(firstLine(question)));
}

export function tellEnd({ agent, task }: JobView, outcome: string): void {
  tell(`${plain(agent)} has ended: ${outcome}`, plain(firstLine(task)));
}

function tell(title: string, body: string): void {
  announce(`${title}: ${body}`);
  const isWanted = notifies.peek() && document.hidden && 'Notification' in window;
  if (!isWanted || Notification.permission !== 'granted') return;
  const note = new Notification(title, { body: body.slice(0, 200), tag: `${title} ${body}`.slice(0, 100) });
  note.onclick = () => {
    window.focus();
    note.close();
  };
}

/** Whether the person let the browser show notifications; asked only when they want them. */
export async function askToNotify(): Promise<void> {
  if (!('Notification' in window)) return;
  notifies.value = (await Notification.requestPermission()) === 'granted';
}
