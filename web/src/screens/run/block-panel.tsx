import type { ComponentChildren } from 'preact';
import type { RunSummary } from '../../../../src/protocol/run-operations.ts';
import type { Halt, LogEntry, RunView } from '../../../../src/protocol/workflow.ts';
import { blockName, cost, count, plain } from '../../format.ts';
import { Badge } from '../../widgets/badge.tsx';
import { Empty } from '../../widgets/empty.tsx';
import { GateBadge } from '../../widgets/gate-badge.tsx';
import { BlockLog } from './block-log.tsx';
import { HaltForm } from './halt-form.tsx';
import { PromptParts } from './prompt-parts.tsx';
import { type Chosen, isSame, type Step, sayStatus, signalName } from './walk.ts';

interface PanelProps {
  run: RunSummary;
  view: RunView;
  steps: readonly Step[];
  chosen: Chosen;
  hrefOf: (block: string, visit?: number) => string;
}

/** One block, and of its visits the chosen one: what it was told, who did it, what it left, and what it asks. */
export function BlockPanel({ run, view, steps, chosen, hrefOf }: PanelProps) {
  const { block, step } = chosen;
  const { name, node } = blockName(block);
  const said = sayStatus(step?.status ?? 'pending');
  const visits = steps.filter((each) => each.block === block);
  const halt = step && view.halts.find((each) => isSame(each, step));
  return (
    <section class={`block-panel tone-${said.tone}`} aria-label={`Block ${plain(name)}`}>
      <header>
        <div>
          <p class="hint">{plain(node.replaceAll('_', ' '))}</p>
          <h2>{plain(name)}</h2>
        </div>
        <Badge tone={said.tone}>{said.text}</Badge>
      </header>
      {visits.length > 1 && <Visits visits={visits} chosen={step} hrefOf={hrefOf} />}
      {halt && <Halted run={run} halt={halt} />}
      {step && (step.entry || !halt) ? (
        <Visit run={run} view={view} step={step} />
      ) : (
        <Planned view={view} block={block} />
      )}
    </section>
  );
}

function Visits({
  visits,
  chosen,
  hrefOf,
}: { visits: readonly Step[]; chosen: Step | undefined } & Pick<PanelProps, 'hrefOf'>) {
  return (
    <nav class="visits" aria-label="Visits of this block">
      {visits.map((visit) => (
        <a
          key={visit.n}
          class={`tone-${sayStatus(visit.status).tone}`}
          href={hrefOf(visit.block, visit.visit)}
          aria-current={chosen?.n === visit.n ? 'true' : undefined}
        >
          Visit {visit.visit}
        </a>
      ))}
    </nav>
  );
}

function Halted({ run, halt }: { run: RunSummary; halt: Halt }) {
  return (
    <div class="halt">
      <p class="halt-message">{plain(halt.message)}</p>
      {halt.excerpt && <pre class="excerpt">{plain(halt.excerpt)}</pre>}
      {halt.files && halt.files.length > 0 && <p class="hint">Files: {plain(halt.files.join(', '))}</p>}
      <HaltForm run={run} halt={halt} />
    </div>
  );
}

function Planned({ view, block }: { view: RunView; block: string }) {
  const ways = view.graph.transitions.filter(({ from }) => from === block);
  return (
    <Part title="Not visited yet">
      <ul class="ways">
        {ways.map(({ to, signal }) => (
          <li key={`${to} ${signal}`}>
            <span class="hint">on {plain(signalName(signal).toLowerCase())}</span> {goesTo(to)}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function goesTo(to: string): string {
  if (to === 'RETURN') return 'it is done';
  return to === 'HALT_AND_FLAG' ? 'it halts and asks you' : `to ${plain(blockName(to).name)}`;
}

function Visit({ run, view, step }: { run: RunSummary; view: RunView; step: Step }) {
  const { entry } = step;
  const gates = view.gates.filter((gate) => isSame(gate, step));
  const troubles = view.events.filter((event) => isSame(event, step));
  return (
    <>
      <Worker step={step} />
      {gates.length > 0 && (
        <Part title="Verdict">
          <div class="gates">
            {gates.map((gate) => (
              <GateBadge
                key={gate.gate}
                gate={{ ...gate, result: gate.result === 'not_run' ? 'not_configured' : gate.result }}
              />
            ))}
          </div>
        </Part>
      )}
      {troubles.map(({ type, slice, message }) => (
        <p key={`${slice} ${message}`} class="hint">
          {type === 'agent_changed' ? plain(message) : `Without the context ${plain(slice)}: ${plain(message)}`}
        </p>
      ))}
      {entry?.prompt && entry.prompt.length > 0 && (
        <Part title="What its prompt was made of">
          <PromptParts parts={entry.prompt} jobId={entry.jobId} block={step.block} visit={step.visit} />
        </Part>
      )}
      {entry?.endedAt !== undefined && (
        <BlockLog
          key={`${step.block} ${step.visit}`}
          runId={run.runId}
          step={step}
          isOpen={gates.some(({ result }) => result === 'failed')}
        />
      )}
    </>
  );
}

function Worker({ step: { entry, signal } }: { step: Step }) {
  if (!entry) return <Empty title="Nothing is known of it" command="reef run log @last" />;
  const [kind = '', name = ''] = entry.worker.split(/:(.*)/s);
  return (
    <p class="worker">
      <span>
        {kind === 'Agent' ? 'Agent' : 'Reef itself'} <strong>{plain(name)}</strong>
      </span>
      {entry.jobId !== undefined && <a href={`/jobs/${entry.jobId}`}>its job</a>}
      {signal !== undefined && <span class="hint">ended with {plain(signalName(signal).toLowerCase())}</span>}
      {exitWords(entry) && <span class="hint">{exitWords(entry)}</span>}
      {entry.spent && <Spent spent={entry.spent} />}
    </p>
  );
}

function exitWords({ exit }: LogEntry): string | undefined {
  if (!exit) return undefined;
  return exit.timedOut ? 'ran out of time' : exit.code === null ? 'was ended' : `exit code ${exit.code}`;
}

function Spent({ spent: { tokens, seconds, usd } }: { spent: NonNullable<LogEntry['spent']> }) {
  return (
    <span class="hint number">
      {seconds.toFixed(1)} s{tokens > 0 && `, ${count(tokens)} tokens, ${usd === null ? 'cost unknown' : cost(usd)}`}
    </span>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="part">
      <h3>{title}</h3>
      {children}
    </div>
  );
}
