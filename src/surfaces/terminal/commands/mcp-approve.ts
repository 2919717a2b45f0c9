import { stringify } from 'yaml';
import { unifiedDiff } from '../../../agents/unified-diff.ts';
import { systemClock } from '../../../base/clock.ts';
import { printable } from '../../../base/printable.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { McpApprovals, type Review } from '../../../runtime/mcp/approval/approvals.ts';
import type { McpTool } from '../../../runtime/mcp/factory.ts';
import { readServerStarts } from '../../../runtime/mcp/mcp-file.ts';
import { createPaths } from '../../../runtime/paths.ts';
import { table } from '../../render/columns.ts';
import type { Cli, Command } from '../cli.ts';
import { agrees } from '../prompt/line-person.ts';

/** The servers of mcp.json, and what of them waits for a person. Starts none. */
export function reviewServers({ env, cwd }: Pick<Cli, 'env' | 'cwd'>): { approvals: McpApprovals; reviews: Review[] } {
  const paths = createPaths(env.all, env.home);
  const approvals = new McpApprovals({ folder: paths.mcpApprovalsDir(), clock: systemClock, tell: () => {} });
  const starts = readServerStarts({ path: paths.mcpConfigFile(), cwd });
  return { approvals, reviews: [...starts].map(([name, start]) => approvals.review(name, start)) };
}

const isSuspended = ({ state, suspended }: Review) => state === 'changed' || suspended.length > 0;

export const listMcp: Command<object> = async (cli) => {
  const { reviews } = reviewServers(cli);
  const servers = reviews.map(({ server, state, start, tools, suspended }) => {
    return { server, state, start, tools, suspended: suspended.map(({ name }) => name) };
  });
  if (servers.length === 0 && !cli.json) cli.talk('There are no MCP servers: functions/mcp.json names none.');
  else cli.print({ servers }, () => table(reviews.map(row), cli.style.width));
  return 0;
};

function row(review: Review) {
  const { server, start } = review;
  const how = start.url ?? [start.command, ...(start.args ?? [])].join(' ');
  return [server, stateOf(review), how].map((text) => ({ text: printable(text) }));
}

/** What is true of a server, in words. */
function stateOf({ state, tools, suspended }: Review): string {
  if (state === 'new') return 'not used yet';
  if (state === 'changed') return 'suspended: started in another way than you approved';
  const names = suspended.map(({ name }) => name).join(', ');
  return `${tools} tools approved${names === '' ? '' : `, suspended: ${names}`}`;
}

/** Shows what changed, and approves exactly that after a yes. */
export const approveMcp: Command<{ yes?: true }> = async (cli, [name], { yes = false }) => {
  if (cli.env.isInJob) throw new ReefError('person_needed', 'What an MCP server may do is for a person to approve.');
  const { approvals, reviews } = reviewServers(cli);
  const named = reviews.filter(({ server }) => (name ?? server) === server);
  if (name !== undefined && named.length === 0)
    throw new ReefError('mcp_server_unknown', `mcp.json has no server ${name}`);
  const open = named.filter(isSuspended);
  if (!cli.json) for (const review of open) cli.out(shown(review, cli));
  const approved = (await isMeant(cli, open, yes)) ? open : [];
  for (const review of approved) await approvals.approve(review);
  report(cli, open, approved);
  return approved.length === open.length ? 0 : 3;
};

async function isMeant(cli: Cli, open: readonly Review[], yes: boolean): Promise<boolean> {
  if (open.length === 0 || yes) return true;
  const what = open.length === 1 ? 'this change' : `these changes of ${open.length} servers`;
  return cli.isInteractive && (await agrees(cli, `Approve ${what}?`));
}

function report(cli: Cli, open: readonly Review[], approved: readonly Review[]): void {
  const names = (reviews: readonly Review[]) => reviews.map(({ server }) => server);
  if (cli.json) cli.print({ changed: names(open), approved: names(approved) }, () => '');
  if (open.length === 0) cli.talk('Nothing is suspended.');
  else if (approved.length > 0) cli.talk(`Approved: ${names(approved).join(', ')}`);
  else cli.talk('Nothing was approved. To approve what is shown: reef mcp approve --yes');
}

function shown({ server, start, before, suspended }: Review, { style }: Cli): string {
  const parts = [
    ...(before ? [['how it is started', unifiedDiff(asYaml(before), asYaml(start))]] : []),
    ...suspended.map(({ name, now, before: was }) => [
      was ? `tool ${name}` : `tool ${name}, which is new`,
      difference(was, now),
    ]),
  ];
  const texts = parts.map(
    ([what = '', diff = '']) => `${style.paint('bold', `${server}: ${what}`)}\n${indented(diff)}`,
  );
  return texts.join('\n');
}

/** What does not differ in what can be shown differs in what is cut from it, or in characters that hide. */
function difference(before: McpTool | undefined, now: McpTool): string {
  const diff = unifiedDiff(before ? toolText(before) : '', toolText(now));
  return diff === '' ? 'differs only in what cannot be shown, and a model does not see either' : diff;
}

const asYaml = (value: unknown) => stringify(value, { lineWidth: 0 });
const toolText = ({ description, inputSchema }: McpTool) => asYaml({ description, arguments: inputSchema });

function indented(text: string): string {
  return printable(text)
    .trimEnd()
    .split('\n')
    .map((line) => `  │ ${line}`)
    .join('\n');
}
