/** Of a script the file's name is enough to tell it by. */
export function shortAgent(agent: string): string {
  return agent.replace(/^scripted:.*\//, 'scripted:');
}
