import { firstLine, plain } from '../format.ts';
import { runs, worktrees } from '../store/home.ts';

const ID = /\b([0-9A-HJKMNP-TV-Z]{26})\b/;

/** The daemon names other worktrees by their ids; here they have their titles, which lead to what is at work there. */
export function WithTitles({ text }: { text: string }) {
  return (
    <>{text.split(ID).map((part, at) => (at % 2 === 1 ? <Titled key={`${at} ${part}`} id={part} /> : plain(part)))}</>
  );
}

function Titled({ id }: { id: string }) {
  const run = runs.value.find(({ worktree }) => worktree === id);
  const title = run?.task ?? worktrees.value.find((each) => each.id === id)?.title;
  if (title === undefined)
    return (
      <a href={`/worktrees/${id}`} title={id}>
        an earlier worktree
      </a>
    );
  return <a href={run ? `/runs/${run.runId}` : `/worktrees/${id}`}>{plain(firstLine(title))}</a>;
}
