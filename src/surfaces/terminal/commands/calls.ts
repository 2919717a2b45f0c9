import { printable } from '../../../base/printable.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Call } from '../../../protocol/run-operations.ts';
import { type Cell, displayWidth, oneLine, table } from '../../render/columns.ts';
import { duration } from '../../render/quantities.ts';
import { shortAgent } from '../../render/short-names.ts';
import { type Cli, type Command, textArgument } from '../cli.ts';
import { waitFor } from './wait.ts';

export const listCalls: Command<{ run?: string; job?: string; limit?: number }> = async (cli, _args, options) => {
  const result = await cli.client().call('calls', options);
  if (!cli.json && result.calls.length === 0) cli.talk('No calls yet.');
  else cli.print(result, () => table(result.calls.map(row), cli.style.width));
  return 0;
};

function row({ callId, block, visit, request, response, error }: Call): Cell[] {
  const used = response ? `${response.tokensUsed.input}+${response.tokensUsed.output}` : '–';
  return [
    { text: callId },
    { text: block === null ? '' : `${block}#${visit}` },
    { text: shortAgent(request.provider) },
    { text: used },
    { text: response ? duration(response.durationMs) : '' },
    { text: error ?? response?.content ?? '' },
  ];
}

export const showCall: Command<object> = async (cli, [call = '']) => {
  const { calls } = await cli.client().call('calls', { call });
  const [found] = calls;
  if (!found) throw new ReefError('call_not_found', `There is no call "${call}"`);
  cli.print(found, () => whole(found, cli));
  return 0;
};

function whole({ request, response, error, failovers, ...about }: Call, { style }: Cli): string {
  const head = (text: string) => style.paint('bold', text);
  return [
    `${about.callId}  ${about.timestamp}  ${request.provider} ${request.model ?? ''}`.trimEnd(),
    ...failovers.map((text) => `  ${printable(text)}`),
    head('asked'),
    printable(request.prompt),
    head('answered'),
    printable(response?.content ?? error ?? ''),
  ].join('\n');
}

/** Shows both answers side by side. Neither the run nor its worktree is touched. */
export const rerunCall: Command<{ edit?: string }> = async (cli, [call = ''], { edit }) => {
  const client = cli.client();
  const prompt = await textArgument(cli, edit);
  const { before, jobId } = await client.call('call_rerun', { call, prompt });
  const { jobs } = await waitFor(client, { ids: [jobId], until: ['needs_input', 'done'] });
  const [job] = jobs;
  if (job?.awaiting_input) {
    cli.talk(`The agent asks something: see \`reef inbox\`. Its answer will be in \`reef output ${jobId}\`.`);
    return 3;
  }
  const { calls } = await client.call('calls', { job: jobId });
  const [after] = calls;
  cli.print({ before, after: after ?? null }, () =>
    sideBySide(said(before), after ? said(after) : '', cli.style.width),
  );
  return after?.response ? 0 : 1;
};

function said({ response, error }: Call): string {
  return response?.content ?? error ?? '';
}

function sideBySide(left: string, right: string, width: number): string {
  const column = Math.max(20, Math.floor((width - 3) / 2));
  const [lefts, rights] = [wrap(left, column), wrap(right, column)];
  const rows = Array.from({ length: Math.max(lefts.length, rights.length) }, (_, index) => {
    const text = lefts[index] ?? '';
    return `${text}${' '.repeat(column - displayWidth(text))} │ ${rights[index] ?? ''}`.trimEnd();
  });
  return rows.join('\n');
}

function wrap(text: string, width: number): string[] {
  return printable(text)
    .split('\n')
    .flatMap((line) => line.match(new RegExp(`.{1,${width}}`, 'gu')) ?? [''])
    .map((line) => oneLine(line, width));
}
