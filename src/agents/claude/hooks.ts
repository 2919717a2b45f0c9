import { z } from 'zod';
import { fingerprint } from '../../base/fingerprint.ts';
import { parseJson } from '../../base/safe-json.ts';
import type { Effect, Encoded, Json, Outgoing, TerminalTalk } from '../adapter.ts';
import { badLine } from '../adapter-effects.ts';
import { reply } from './encode.ts';
import { ASK_TOOL, PLAN_TOOL, questionsOf } from './question.ts';
import { remember } from './state.ts';

/**
 * At its own terminal Claude Code tells Reef what goes on by its hooks, and asks a person twice at once: in the terminal,
 * and through a hook that waits for Reef. Whoever answers first decides.
 */

const TELL = '{ cat; echo; } >>"$REEF_TOLD"';

/** Ends when Reef says what was decided or that it no longer matters, and with Claude. */
const ASK = [
  'id=$(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen)',
  String.raw`printf '{"ask":"%s","hook":%s}\n' "$id" "$(cat)" >>"$REEF_TOLD"`,
  'while kill -0 "$PPID" 2>/dev/null; do [ -e "$REEF_SAID/$id" ] && exec cat "$REEF_SAID/$id"; sleep 0.3; done',
].join(' && ');

/** As long as a job may live. */
const ASK_SECONDS = 86_400;
const TOLD = ['UserPromptSubmit', 'PostToolUse', 'PostToolUseFailure', 'Notification', 'Stop'];

const hook = (command: string, more = {}) => [{ hooks: [{ type: 'command', command, ...more }] }];

export const TERMINAL_HOOKS = {
  ...Object.fromEntries(TOLD.map((event) => [event, hook(TELL)])),
  PermissionRequest: hook(ASK, { timeout: ASK_SECONDS }),
};

const toolUse = z.object({ tool_name: z.string(), tool_input: z.record(z.string(), z.unknown()) });
const askLine = z.object({
  ask: z.string().regex(/^[\dA-Fa-f-]{36}$/),
  hook: toolUse.extend({ agent_id: z.string().optional().catch(undefined) }),
});
const toldLine = z.object({ hook_event_name: z.string() });
const stopLine = z.object({ last_assistant_message: z.string().catch('') });
const notificationLine = z.object({ notification_type: z.string().optional().catch(undefined) });

/** What Claude asks at the moment: by the id of the hook that waits, with what it wants to do. */
type HookState = { asked: { id: string; about: string }[] };

export const terminalTalk: TerminalTalk<HookState> = {
  initial: () => ({ asked: [] }),
  parse(state, line) {
    if (line.stream === 'err') return { state, effects: [] };
    const asked = askLine.safeParse(line.json);
    if (asked.success) return ask(state, asked.data);
    const told = toldLine.safeParse(line.json);
    if (!told.success) return { state, effects: [badLine('a line that is of no hook')] };
    return hear(state, told.data.hook_event_name, line.json);
  },
  encode,
};

interface Step {
  state: HookState;
  effects: Effect[];
}

function ask(state: HookState, { ask: id, hook: wish }: z.infer<typeof askLine>): Step {
  const { tool_name, tool_input: input, agent_id } = wish;
  const questions = questionsOf({ tool_name, input, agent_id }, {});
  const asked = remember(state.asked, { id, about: aboutOf(wish) });
  return { state: { asked }, effects: [{ do: 'ask', requestId: id, questions }] };
}

function hear(state: HookState, event: string, json: Json): Step {
  if (event === 'PostToolUse' || event === 'PostToolUseFailure') return answeredThere(state, json);
  if (event === 'UserPromptSubmit') {
    // Each prompt counts as a turn: how often the model answers is not told.
    const over = drop(state, () => true);
    return { ...over, effects: [...over.effects, { do: 'turn', is: 'begun' }, { do: 'answer' }] };
  }
  if (event === 'Stop') {
    const { last_assistant_message: result = '' } = stopLine.safeParse(json).data ?? {};
    const over = drop(state, () => true);
    return { ...over, effects: [...over.effects, { do: 'turn', is: 'over', outcome: 'done', result }] };
  }
  // It waits for a prompt, so what it asked was refused at the terminal.
  const isIdle = notificationLine.safeParse(json).data?.notification_type === 'idle_prompt';
  return isIdle ? drop(state, () => true) : { state, effects: [] };
}

/** The tool has run, so whoever sat at the terminal has said yes. */
function answeredThere(state: HookState, json: Json): Step {
  const ran = toolUse.safeParse(json);
  if (!ran.success) return { state, effects: [] };
  const first = state.asked.find(({ about }) => about === aboutOf(ran.data));
  return drop(state, (each) => each === first);
}

/** Of what is decided at the terminal; the hook that waits is told that nothing more comes. */
function drop({ asked }: HookState, isOver: (each: HookState['asked'][number]) => boolean): Step {
  const over = asked.filter(isOver);
  return {
    state: { asked: asked.filter((each) => !over.includes(each)) },
    effects: over.flatMap(({ id }): Effect[] => [
      { do: 'withdraw', requestId: id, by: 'agent' },
      { do: 'write', line: JSON.stringify({ to: id, say: null }) },
    ]),
  };
}

/** Choices and plans come back with what was chosen in them. */
function aboutOf({ tool_name: tool, tool_input: input }: z.infer<typeof toolUse>): string {
  return tool === ASK_TOOL || tool === PLAN_TOOL ? tool : fingerprint({ tool, input });
}

function encode(state: HookState, outgoing: Outgoing): Encoded<HookState> {
  if (outgoing.kind !== 'answer') {
    return { refuse: 'send_unsupported', message: 'Claude Code is told nothing but by its keyboard' };
  }
  const { requestId: id, requestLine, answers } = outgoing;
  const json = parseJson(requestLine);
  const { data: asked } = askLine.safeParse(json.ok ? json.value : undefined);
  if (!asked) return { refuse: 'bad_line', message: `the request ${id} cannot be read again` };
  const { tool_name, tool_input: input } = asked.hook;
  const decision = reply({ tool_name, input }, answers, true);
  const say = { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } };
  return {
    state: { asked: state.asked.filter((each) => each.id !== id) },
    lines: [JSON.stringify({ to: id, say })],
  };
}
