import { type InputRequests, inputRequired, type McpServer, type ServerContext } from '@modelcontextprotocol/server';

/** Tools that ask the client before they answer, as a result of 2026-07-28: what each asks for, round by round. */

const words = (name: string) => ({ type: 'object' as const, properties: { [name]: { type: 'string' as const } } });
const ask = (message: string, name: string) => inputRequired.elicit({ message, requestedSchema: words(name) });
const capital = { role: 'user' as const, content: { type: 'text' as const, text: 'What is the capital of France?' } };
const think = inputRequired.createMessage({ messages: [capital], maxTokens: 100 });
const roots = inputRequired.listRoots();

const ROUNDS: Record<string, InputRequests[]> = {
  elicitation: [{ user_name: ask('What is your name?', 'name') }],
  sampling: [{ capital_question: think }],
  list_roots: [{ client_roots: roots }],
  request_state: [{ confirm: ask('Please confirm', 'ok') }],
  multiple_inputs: [{ user_name: ask('What is your name?', 'name'), greeting: think, client_roots: roots }],
  multi_round: [{ step1: ask('Step 1: your name?', 'name') }, { step2: ask('Step 2: your colour?', 'colour') }],
};

/** What is to be asked next; undefined when all rounds were answered. The state says which round this is. */
function next(rounds: readonly InputRequests[], { mcpReq }: ServerContext) {
  const round = Number(mcpReq.requestState()?.toString().slice('round-'.length) ?? 0);
  const isAnswered = Object.keys(rounds[round] ?? {}).every((key) => mcpReq.inputResponses?.[key] !== undefined);
  const wanted = isAnswered ? round + 1 : round;
  const inputRequests = rounds[wanted];
  return inputRequests && inputRequired({ inputRequests, requestState: `round-${wanted}` });
}

export function addRounds(server: McpServer): void {
  for (const [name, rounds] of Object.entries(ROUNDS)) {
    server.registerTool(`test_input_required_result_${name}`, { description: name }, (context) => {
      const heard = JSON.stringify(context.mcpReq.inputResponses);
      return next(rounds, context) ?? { content: [{ type: 'text', text: `state-ok ${heard}` }] };
    });
  }
  const context = [{ user_context: ask('What context should the prompt use?', 'context') }];
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks first' }, (asked) => {
    const message = { role: 'user' as const, content: { type: 'text' as const, text: 'In that context' } };
    return next(context, asked) ?? { messages: [message] };
  });
}
