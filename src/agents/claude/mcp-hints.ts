import { controlResponseLine, mcpStatusReply } from './schema.ts';
import type { ClaudeState, Draft } from './state.ts';

/** Of the request in which Reef asks Claude what the tools of its MCP servers do. */
const STATUS_REQUEST = 'reef:mcp_status';

/** Of tools of Reef's own server. Two underscores would begin the tool of another one, whose name begins alike. */
const OWN_TOOL = /^mcp__reef__[a-z]+(?:_[a-z]+)*$/;

/**
 * Where a person put a server in effect: in their own configuration, or in that of a repository, which Claude loads only
 * once they trust it. What such a server says of its tools counts; servers from anywhere else are asked about.
 */
const CHOSEN = new Set(['user', 'local', 'project']);
/** Names of this length fit into the state. */
const MOST_TOOLS = 128;
const LONGEST_NAME = 128;

export function isOwnTool(tool: string): boolean {
  return OWN_TOOL.test(tool);
}

/** Asked again until the answer names the tool: servers connect while Claude already works. */
export function askForHints({ effects }: Draft): void {
  const request = { subtype: 'mcp_status' };
  effects.push({ do: 'write', line: JSON.stringify({ type: 'control_request', request_id: STATUS_REQUEST, request }) });
}

export function isOfHints(json: unknown): boolean {
  return controlResponseLine.safeParse(json).data?.response.request_id === STATUS_REQUEST;
}

export function readHints({ state }: Draft, json: unknown): void {
  const parsed = mcpStatusReply.safeParse(json);
  if (!parsed.success) return; // a Claude that does not know the request, or tells it otherwise: then all are asked about
  const tools = parsed.data.response.response.mcpServers.flatMap(({ name, source, tools = [] }) =>
    CHOSEN.has(source ?? '') && name !== 'reef'
      ? tools.map((tool) => ({ ...tool, full: fullName(name, tool.name) }))
      : [],
  );
  state.mcpTools = tools
    .filter(({ full }) => full.length <= LONGEST_NAME)
    .slice(0, MOST_TOOLS)
    .map(({ full, annotations }) => ({
      name: full,
      reads: annotations?.readOnly === true && !annotations.destructive,
    }));
}

/** As Claude spells it when it asks. */
function fullName(server: string, tool: string): string {
  const word = (text: string) => text.replaceAll(/[^\w-]/g, '_');
  return `mcp__${word(server)}__${word(tool)}`;
}

/** Undefined: nothing is known of it. A job that an earlier Reef began has no list. */
export function onlyReads({ mcpTools }: Partial<ClaudeState>, tool: string): boolean | undefined {
  return mcpTools?.find(({ name }) => name === tool)?.reads;
}
