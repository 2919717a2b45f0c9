import { expect } from 'vitest';
import { COMMANDS, parseCommand } from '../../src/app/runtime/commands/table.ts';
import { initRepository } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';
import { Chat, type Step, TMUX } from './chat-rig.ts';
import { makeUser, type User } from './runtime-rig.ts';

/** T19 of the seed: every dot-command, typed at a real terminal. */
const proves: typeof verifies = (...ids) => verifies(...ids).needs(TMUX !== undefined, 'tmux is not installed');

const step = (line: string, shows: RegExp, more: Partial<Step> = {}): Step => ({ line, shows, ...more });
const yes = [{ question: /\[y\/N\]/, line: 'y' }];
const no = [{ question: /\[y\/N\]/, line: 'n' }];

const FLOWS: Readonly<Record<string, readonly Step[]>> = {
  'the conversation itself': [
    step('.help', /\.help +Show this list[\s\S]*Ctrl-D +Leave\n>$/),
    step('.copy', /there is no reply yet: ask something first/),
    step('hello', /What shall we do\?\n>$/),
    step('.copy', /Copied 24 characters\.\n>$/),
    step('.continue', / And on it went\.\n>$/),
    step('.copy', /Copied 40 characters\.\n>$/),
    step('.regenerate', /Hello! What shall we do\?\n>$/),
    step('.set temperature 0.7', />$/),
    step('.info', /^temperature +0\.7$/m),
    step('.set colour red', /use one of temperature, top_p, enabled_tools/),
    step('.model openai:gpt-4o', />$/),
    step('hello', /This is the other model\.\n>$/),
    step('.model scripted:demo', />$/),
    step('.file notes.txt -- what is this about?', /The notes speak of coral\.\n>$/),
    step('.file %% `echo from a shell` -- what is this?', /Understood\.\n>$/),
    step('.macro run-tests unit', />> run unit tests quickly\nIt means what it says\.\n>> \.info role[\s\S]*>$/),
    step('.authenticate', /there is no command \.authenticate/),
    step('.edit config', /is reloaded. New clients[\s\S]*>$/, { edit: 's/^save_session: true/save_session: false/' }),
    step('.info', /^save_session +false$/m),
    step('.delete macro run-tests', /Deleted macro run-tests\n>$/, { answers: yes }),
    step('.macro run-tests', /there is no macro run-tests/, { answers: no }),
    step('.nonsense', /there is no command \.nonsense/),
    step('.exit', /\[ended 0\]/),
  ],
  secrets: [
    step('.vault add TOKEN', /Value of TOKEN:\nAdded TOKEN\n>$/, {
      answers: [{ question: /Value of TOKEN:/, line: 'a: "value"' }],
    }),
    step('.vault list', /^TOKEN\n>$/m),
    step('.vault get TOKEN', /^a: "value"\n>$/m),
    step('.vault delete TOKEN', /Deleted TOKEN\n>$/),
  ],
  roles: [
    step('.info role', /no role is active: run `\.role NAME` first/),
    step('.prompt Be brief.', /%%>$/),
    step('.save role brief', /Saved \S+brief\.md\nbrief>$/),
    step('.edit role', /brief>$/, { edit: 's/Be brief/Be kind/' }),
    step('.info role', /Be kind\.\nbrief>$/),
    step('.exit role', /^>$/m),
    step('.role explain what is this?', /It means what it says\.\n>$/),
    step('.role explain', /explain>$/),
    step('.exit role', /^>$/m),
    step('.delete role brief', /Deleted role brief\n>$/, { answers: yes }),
  ],
  sessions: [
    step('.empty session', /no session is active: run `\.session \[NAME\]` first/),
    step('.session my-project', /\/my-project>$/),
    step('.compress session', /nothing was said in the session yet/),
    step('hello', /What shall we do\?\n\/my-project>/),
    step('.info session', /user_messages: 1[\s\S]*data_urls[\s\S]*\/my-project>/),
    step('.role explain', /the session has begun: run `\.empty session` or `\.exit session` first/),
    step('.session other', /session my-project is active: run `\.exit session` first/),
    step('.undo', /\n\/my-project>$/),
    step('hello', /What shall we do\?\n\/my-project>/),
    step('.compress session', /(Compressed|nothing to compress)\.\n\/my-project>/),
    step('.save session kept', /Saved as kept\n\/kept>/),
    step('.edit session', /\n\/kept>/, { edit: 's/^temperature: null/temperature: 1.5/' }),
    step('.info', /^temperature +1\.5$/m),
    step('.fork session', /\n\/temp>/),
    step('.empty session', /\n\/temp>$/),
    step('.exit session', /^>$/m),
  ],
  agents: [
    step('.starter', /no agent is active: run `\.agent NAME` first/),
    step('.agent sisyphus inner thing=water', /# sisyphus 0\.1\.0\nRolls a stone uphill\.[\s\S]*sisyphus\/inner>/),
    step('.edit agent-config', /agent-config\nsisyphus\/inner>/, { edit: 's/0.1.0/0.1.1/' }),
    step('.starter', /1\. Where is the stone\?\n2\. Roll it again\nsisyphus\/inner>/),
    step('.starter 1', /The stone is at the foot of the hill\.\nsisyphus\/inner>/),
    step('.info agent', /You roll water uphill/),
    step('.clear todo', /The todo list is empty\.\nsisyphus/),
    step('.edit config', /agent sisyphus is active: run `\.exit agent` first/),
    step('.role code', /agent sisyphus is active: run `\.exit agent` first/),
    step('.agent coder', /agent sisyphus is active: run `\.exit agent` first/),
    step('.edit agent-config', /agent-config\nsisyphus\/inner>/, { edit: 's/Rolls a stone/Rolls a boulder/' }),
    step('.info agent', /description: Rolls a boulder/),
    step('.exit agent', /^>$/m),
    step('.delete agent-data sisyphus', /Deleted agent-data sisyphus\n>$/, { answers: yes }),
  ],
  documents: [
    step('.sources rag', /no RAG is active: run `\.rag NAME` first/),
    step('.rag docs', /2 files, \d+ chunks\n@docs>$/, { answers: [{ question: /Documents \(.*\):$/, line: 'docs' }] }),
    step('how are keys rotatd?', /Understood\.\n@docs>$/),
    step('.sources rag', /docs\/keys\.md +chunk 1 +\d[\s\S]*@docs>$/),
    step('.info rag', /retrieval: by words[\s\S]*@docs>$/),
    step('.rebuild rag', /2 files, \d+ chunks\n@docs>$/),
    step('.edit rag-docs', /1 files, \d+ chunks\n@docs>$/, { edit: 's,/docs$,/docs/keys.md,' }),
    step('.exit rag', /^>$/m),
    step('.delete rag docs', /Deleted rag docs\n>$/, { answers: yes }),
  ],
  'jobs and servers': [
    step('.jobs', /No jobs yet\.\n>$/),
    step('.inbox', /No open questions\.\n>$/),
    step('.info mcp', /No MCP server is enabled\.\nstarted 0, shared 0, revived 0\n>$/),
    step('.reload mcp', /No MCP server is enabled\./),
  ],
};

function prepare(user: User): void {
  user.write('work/notes.txt', 'Coral grows slowly.\n');
  user.write('work/docs/keys.md', '# Keys\n\nKeys are rotated every month by hand.\n');
  user.write('work/docs/fish.md', '# Fish\n\nThere are many fish.\n');
}

for (const [name, steps] of Object.entries(FLOWS)) {
  proves('R-139', 'R-110').test(
    `at a terminal: ${name}`,
    async () => {
      const user = makeUser();
      prepare(user);
      if (name === 'jobs and servers') initRepository(user.cwd);
      await using chat = await Chat.open(user);
      for (const each of steps) await chat.step(each);
      if (name === 'jobs and servers') await user.reef(['daemon', 'stop']);
    },
    300_000,
  );
}

const NONE = ['.nonsense', '.authenticate'];

verifies('R-110', 'R-139', 'R-164').test(
  'there are 38 commands of the ancestor, all but its log-in, and six of ours, and each is typed above',
  () => {
    const ours = ['.jobs', '.inbox', '.info mcp', '.reload mcp', '.fork session', '.undo'];
    const names = COMMANDS.map(({ name }) => name);
    const typed = Object.values(FLOWS).flatMap((steps) =>
      steps.flatMap(({ line }) => (line.startsWith('.') && !NONE.includes(line) ? [parseCommand(line).name] : [])),
    );
    expect([names.filter((name) => !ours.includes(name)).length, [...new Set(typed)].sort()]).toEqual([
      38,
      [...names].sort(),
    ]);
  },
);
