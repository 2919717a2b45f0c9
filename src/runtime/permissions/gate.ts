import { fingerprint } from '../../base/fingerprint.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Rule } from '../config/reef-block.ts';
import type { Decision, Tool, ToolContext } from '../tools/tool.ts';
import { judge } from './rules.ts';

/** The calls that a person allowed for good. They are kept outside every repository. */
interface SavedGrants {
  has(fingerprint: string): boolean;
  add(grant: { fingerprint: string; tool: string; input: unknown; cwd: string }): void | Promise<void>;
}

export interface GateDeps {
  rules: readonly Readonly<Rule>[];
  /** `AUTO_CONFIRM` or `--yes` answers questions with yes. What a rule denies stays denied. */
  confirmAll?: boolean | undefined;
  grants?: SavedGrants | undefined;
}

export interface PermissionGate {
  /** Resolves when the call may be made; rejects with `permission_denied` or `needs_human`. */
  pass(tool: Tool, args: unknown, context: ToolContext): Promise<void>;
}

/** The permissions of one scope. It forgets what was allowed for the session when it ends. */
export function createPermissionGate({ rules, confirmAll, grants }: GateDeps): PermissionGate {
  const allowed = new Set<string>();
  const keep = async (decision: Decision, grant: Parameters<SavedGrants['add']>[0]) => {
    if (decision !== 'allow_once') allowed.add(grant.fingerprint);
    if (decision === 'allow_always') await grants?.add(grant);
  };
  return {
    async pass(tool, args, context) {
      const { name, effect } = tool;
      const { cwd } = context;
      const claims = tool.claims?.(args, cwd) ?? {};
      const { action, reasons } = judge(rules, { tool: name, effect, claims, arguments: args });
      if (action === 'deny') throw denied(tool, reasons, 'a rule forbids it');
      if (action === 'allow' || confirmAll) return;
      const print = fingerprint({ tool: name, arguments: args ?? null, cwd });
      if (allowed.has(print) || grants?.has(print)) return;
      const decision = await ask({ tool, args, context, reasons });
      if (decision === 'deny') throw denied(tool, reasons, 'the answer was no');
      await keep(decision, { fingerprint: print, tool: name, input: args, cwd });
    },
  };
}

interface Asking {
  tool: Tool;
  args: unknown;
  context: ToolContext;
  reasons: string[];
}

async function ask({ tool, args, context, reasons }: Asking): Promise<Decision> {
  const question = `May ${tool.name} be used? ${reasons.join('; ')}`;
  const answer = await context.ask(
    { kind: 'permission', question, tool: tool.name, arguments: args, cwd: context.cwd, reasons },
    context.signal,
  );
  if (answer.kind === 'needs_human') {
    throw new ReefError('needs_human', `Nobody is here to allow ${tool.name}`, {
      details: { needs_human: true, action: 'permission', question, tool: tool.name, arguments: args },
    });
  }
  // Any other answer means no.
  if (answer.kind !== 'permission') return 'deny';
  return ['allow_once', 'allow_session', 'allow_always'].includes(answer.decision) ? answer.decision : 'deny';
}

function denied(tool: Tool, reasons: string[], why: string): ReefError {
  return new ReefError('permission_denied', `${tool.name} was not run: ${why} (${reasons.join('; ')})`, {
    details: { tool: tool.name, reasons },
  });
}
