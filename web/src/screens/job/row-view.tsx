import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { clock, count, duration, plain } from '../../format.ts';
import { who } from '../../questions/asked.ts';
import { Badge, type Tone } from '../../widgets/badge.tsx';
import { Diff } from '../../widgets/diff.tsx';
import { Guard } from '../../widgets/guard.tsx';
import { Icon, type IconName } from '../../widgets/icon.tsx';
import { Markdown } from '../../widgets/markdown.tsx';
import type { EditRow, MomentRow, PlanRow, Row, ToolRow } from './rows.ts';

/** Which long rows are shown whole. It outlives their leaving the screen. */
type Unfolded = Signal<ReadonlySet<number>>;

interface RowProps {
  row: Row;
  unfolded: Unfolded;
}

/** One row of the timeline, drawn by what it is. */
export function RowView({ row, unfolded }: RowProps) {
  return (
    <div class={`row is-${row.is}${row.isChild ? ' of-child' : ''}`} data-seq={row.seq}>
      <time class="row-time" dateTime={row.at}>
        {clock(new Date(row.at))}
      </time>
      <div class="row-body">
        <Guard otherwise={() => <pre class="output">{plain(JSON.stringify(row, null, 1))}</pre>}>
          <Body row={row} unfolded={unfolded} />
        </Guard>
      </div>
    </div>
  );
}

function Body({ row, unfolded }: RowProps) {
  const long = { seq: row.seq, unfolded };
  switch (row.is) {
    case 'text':
      return <Markdown text={row.text} />;
    case 'thinking':
      return <Folded {...long} text={row.text} lines={3} label="Thinking" />;
    case 'tool':
      return <Tool call={row.call} result={row.result} {...long} />;
    case 'result':
      return <Result result={row.result} {...long} />;
    case 'edit':
      return <Edit edit={row.edit} />;
    case 'plan':
      return <Plan entries={row.entries} />;
    case 'turn':
      return <p class="turn">Turn {row.n}</p>;
    case 'note':
      return <p class={row.isWarning ? 'note tone-waits' : 'note'}>{plain(row.text)}</p>;
    case 'question':
    case 'input':
    case 'error':
    case 'started':
    case 'end':
      return <MomentView row={row} />;
  }
}

/** What is about the job itself. */
function MomentView({ row }: { row: MomentRow }) {
  switch (row.is) {
    case 'question':
      return <Line icon="question" tone="needs" title={row.question.question} />;
    case 'input': {
      const { by, decision, option, text } = row.input;
      const said = decision?.replace('_', ' ') ?? option?.join(', ') ?? text ?? '';
      return <Line icon="arrow" tone="works" title={said} hint={by.startsWith('uid:') ? 'you' : who(by)} />;
    }
    case 'error': {
      const { code, message: said, stderrTail, fatal, repeats } = row.error;
      const message = repeats ? 'The agent ended with this error' : said;
      return (
        <Line icon="cross" tone={fatal ? 'bad' : 'waits'} title={message} hint={code}>
          {stderrTail && <pre class="output">{plain(stderrTail)}</pre>}
        </Line>
      );
    }
    case 'started': {
      const { agent, resumed, cwd } = row.started;
      return <Line icon="play" tone="calm" title={`${agent} ${resumed ? 'goes on' : 'begins'}`} hint={cwd} />;
    }
    case 'end': {
      const { outcome, durationMs, result } = row.end;
      const isGood = outcome === 'done' || outcome === 'ended';
      return (
        <Line
          icon="stop"
          tone={isGood ? 'good' : 'calm'}
          title={`Ended: ${outcome}`}
          hint={`after ${duration(durationMs)}`}
        >
          {result && !row.isEcho && <Markdown text={result} />}
        </Line>
      );
    }
  }
}

interface LineProps {
  icon: IconName;
  tone: Tone;
  title: string;
  hint?: string;
  children?: ComponentChildren;
}

function Line({ icon, tone, title, hint, children }: LineProps) {
  return (
    <div class={`line tone-${tone}`}>
      <Icon name={icon} />
      <div>
        <p>
          <strong>{plain(title)}</strong> {hint && <span class="hint">{plain(hint)}</span>}
        </p>
        {children}
      </div>
    </div>
  );
}

const TOOL_ICONS: Readonly<Record<string, IconName>> = {
  shell: 'shell',
  read: 'file',
  edit: 'file',
  search: 'search',
  fetch: 'link',
  mcp: 'spark',
  agent: 'runs',
};

interface Long {
  seq: number;
  unfolded: Unfolded;
}

function Tool({ call, result, ...long }: Pick<ToolRow, 'call' | 'result'> & Long) {
  const command = call.tool === 'shell' ? commandOf(call.input) : undefined;
  const said = result?.text.trim() ?? '';
  return (
    <section class="tool" aria-label={plain(call.title || call.name)}>
      <header>
        <Icon name={TOOL_ICONS[call.tool] ?? 'more'} />
        {command === undefined ? (
          <span class="tool-title">{plain(call.title || call.name)}</span>
        ) : (
          <code class="tool-title shell-line">{plain(command)}</code>
        )}
        <Exit result={result} />
      </header>
      {result && said !== '' && !call.title.endsWith(said) && <Folded {...long} text={result.text} lines={8} />}
    </section>
  );
}

function commandOf(input: unknown): string | undefined {
  const command = typeof input === 'object' && input !== null && 'command' in input ? input.command : undefined;
  if (Array.isArray(command)) return command.join(' ');
  return typeof command === 'string' ? command : undefined;
}

function Exit({ result }: { result: ToolRow['result'] }) {
  if (!result) return <Badge tone="works">running</Badge>;
  if (result.closedBy) return <Badge tone="calm">ended by {result.closedBy}</Badge>;
  const code = result.exitCode;
  if (!result.ok) return <Badge tone="bad">{code === undefined ? 'failed' : `exit ${code}`}</Badge>;
  return <Badge tone="good">{code === undefined ? 'done' : `exit ${code}`}</Badge>;
}

function Result({ result, ...long }: { result: NonNullable<ToolRow['result']> } & Long) {
  return (
    <section class="tool" aria-label="Result of a tool">
      <header>
        <span class="tool-title hint">Result</span>
        <Exit result={result} />
      </header>
      <Folded {...long} text={result.text} lines={8} />
    </section>
  );
}

/** The first lines, and all of them when somebody asks. */
function Folded({ text, lines, label, seq, unfolded }: Long & { text: string; lines: number; label?: string }) {
  const all = plain(text).trimEnd().split('\n');
  const isWhole = all.length <= lines + 1 || unfolded.value.has(seq);
  return (
    <>
      {label && <p class="hint">{label}</p>}
      <pre class="output">{(isWhole ? all : all.slice(0, lines)).join('\n')}</pre>
      {!isWhole && (
        <button
          type="button"
          class="unfold"
          onClick={() => {
            unfolded.value = new Set([...unfolded.peek(), seq]);
          }}
        >
          {count(all.length - lines)} more lines
        </button>
      )}
    </>
  );
}

const EDITS = { add: 'Added', update: 'Changed', delete: 'Deleted', rename: 'Renamed' } as const;

function Edit({ edit: { kind, path, from, diff, outside } }: { edit: EditRow['edit'] }) {
  return (
    <section class="tool" aria-label={`${EDITS[kind]} ${plain(path)}`}>
      <header>
        <Icon name="file" />
        <span class="tool-title">
          {EDITS[kind]} <code>{from ? `${plain(from)} → ${plain(path)}` : plain(path)}</code>
        </span>
        {outside && <Badge tone="bad">outside its folder</Badge>}
      </header>
      {diff && <Diff patch={diff} />}
    </section>
  );
}

const STEPS: Readonly<Record<string, string>> = { completed: '☑', in_progress: '▸' };

function Plan({ entries }: { entries: PlanRow['entries'] }) {
  return (
    <ul class="plan">
      {entries.map(({ text, status }, at) => (
        <li key={at} class={status}>
          {STEPS[status ?? ''] ?? '☐'} {plain(text)}
        </li>
      ))}
    </ul>
  );
}
