import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { op } from '../../connection/op.ts';
import { navigate } from '../../router.ts';
import { jobs, runs } from '../../store/home.ts';
import { useAct } from '../../store/use-act.ts';
import { Button } from '../../widgets/button.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Page, Section } from '../../widgets/page.tsx';
import { Sure } from '../../widgets/sure.tsx';
import { ClashReport } from './clash-report.tsx';
import { asJob, asRun, forget, lacks, type Order, order, planOf, write } from './order.ts';

/** A task is described, and started where it stands. What is written stays until then. */
export function New() {
  const now = order();
  const { act, refused, isBusy } = useAct();
  const task = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => task.current?.focus(), []);
  const reason = lacks(now);
  const plan = planOf(now);
  const start = async () => {
    if (reason !== undefined || isBusy.peek()) return;
    let to = '/now';
    const ask = async () => {
      if (now.how === 'run') to = `/runs/${(await op('run', asRun(now))).runId}`;
      else to = `/jobs/${(await op('spawn', asJob(now))).agentId}`;
    };
    if (!(await act(ask))) return;
    forget();
    navigate(to);
  };
  return (
    <Page title="New task">
      <form
        class="new"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void start();
        }}
      >
        <label class="field new-task">
          <span>What should be done</span>
          <textarea
            ref={task}
            rows={4}
            value={now.task}
            onInput={({ currentTarget }) => write({ task: currentTarget.value })}
          />
        </label>
        <How now={now} />
        <div class="new-sides">
          <label class="field">
            <span>Files it will change: one path or pattern a line</span>
            <textarea
              rows={3}
              class="code"
              placeholder={'src/orders/**\nREADME.md'}
              value={now.plan}
              onInput={({ currentTarget }) => write({ plan: currentTarget.value })}
            />
          </label>
          <Section title="Who is in the way">
            <ClashReport plan={plan} />
          </Section>
        </div>
        {plan.length > 0 && (
          <label class="new-anyway">
            <input
              type="checkbox"
              checked={now.anyway}
              onChange={({ currentTarget }) => write({ anyway: currentTarget.checked })}
            />
            <span>Start anyway, without waiting for others</span>
          </label>
        )}
        <Refused error={refused.value} />
        <div class="actions">
          <Button type="submit" kind="main" icon="play" acts isBusy={isBusy.value} offBecause={reason}>
            Start
          </Button>
          {(now.task !== '' || now.plan !== '') && <Sure label="Clear" sure="Clear all of it?" onClick={forget} />}
          <span class="hint">{reason ?? 'Ctrl Enter starts it, too.'}</span>
        </div>
      </form>
    </Page>
  );
}

const WORKFLOWS = ['test-fix', 'full-gates'];
/** What those begin with, which is no name of a workflow. */
const SHIPPED_START = 'Feature_Implement';
const AGENTS = ['claude', 'codex', 'gemini', 'opencode', 'native:coder'];

function How({ now }: { now: Order }) {
  const named = runs.value.map(({ workflow }) => workflow).filter((name) => name !== SHIPPED_START);
  const workflows = [...new Set([...WORKFLOWS, ...named])];
  const agents = [...new Set([...AGENTS, ...jobs.value.map(({ agent }) => agent)])];
  return (
    <>
      <fieldset class="new-how">
        <legend>How</legend>
        <Choice now={now} how="run" title="A workflow">
          Agents write, the gates of the project judge, and what fails goes back.
        </Choice>
        <Choice now={now} how="job" title="One agent">
          In a worktree of its own; nothing judges it before you do.
        </Choice>
      </fieldset>
      <div class="new-fields">
        {now.how === 'run' && (
          <Suggested label="Workflow" hint="The project's own" name="workflow" now={now} options={workflows} />
        )}
        <Suggested label="Agent" hint="claude" name="agent" now={now} options={agents} />
        <Amount label="Tokens at most" hint="No limit, or 200k" name="tokens" now={now} />
        <Amount label="Minutes at most" hint="No limit" name="minutes" now={now} />
      </div>
    </>
  );
}

interface ChoiceProps {
  now: Order;
  how: Order['how'];
  title: string;
  children: ComponentChildren;
}

function Choice({ now, how, title, children }: ChoiceProps) {
  return (
    <label>
      <input type="radio" name="how" checked={now.how === how} onChange={() => write({ how })} />
      <span>
        <strong>{title}</strong>
        <span class="hint">{children}</span>
      </span>
    </label>
  );
}

interface FieldProps<Name> {
  label: string;
  hint: string;
  name: Name;
  now: Order;
}

function Suggested({ label, hint, name, now, options }: FieldProps<'workflow' | 'agent'> & { options: string[] }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="text"
        list={`known-${name}`}
        placeholder={hint}
        value={now[name]}
        onInput={({ currentTarget }) => write({ [name]: currentTarget.value })}
      />
      <datalist id={`known-${name}`}>
        {options.map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
    </label>
  );
}

function Amount({ label, hint, name, now }: FieldProps<'tokens' | 'minutes'>) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="text"
        inputMode="decimal"
        placeholder={hint}
        value={now[name]}
        onInput={({ currentTarget }) => write({ [name]: currentTarget.value })}
      />
    </label>
  );
}
