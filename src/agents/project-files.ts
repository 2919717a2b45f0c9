/** How a repository steers one kind of agent, by names in its root. */
export interface ProjectNames {
  /** Files and folders that may execute: settings, hooks, servers, commands, skills. They take effect only when trusted. */
  settings: readonly string[];
  /** Text. It is given to the agent in any case. */
  instructions: readonly string[];
}

/** What the folder of a job brings for its agent. */
export interface ProjectFiles {
  /** The folders that count as this repository: the agent may keep its own trust in them. */
  roots: readonly string[];
  /** Settings that nobody trusts, or that are not as they were when somebody did. With one of them, none takes effect. */
  withheld: readonly string[];
  instructions: readonly { path: string; name: string; text: string }[];
}

/** Whether the agent may read its settings from the folder. Not where nobody looked at them. */
export function loadsProject(project: ProjectFiles | undefined): boolean {
  return project?.withheld.length === 0;
}

const LONGEST_TEXT = 24 * 1024;
const CUT = '\n\n(It goes on. Read the rest in the file.)';

/** The instruction files as a text, for an agent that cannot read them without reading the settings too. */
export function instructionText(project: ProjectFiles | undefined): string | undefined {
  if (project === undefined || loadsProject(project) || project.instructions.length === 0) return undefined;
  const parts = project.instructions.map(({ name, text }) => `Contents of ${name} in this repository:\n\n${text}`);
  const text = parts.join('\n\n');
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}${CUT}` : text;
}

/** What the job tells a person about it. */
export function withheldText({ withheld }: ProjectFiles): string | undefined {
  if (withheld.length === 0) return undefined;
  const shown = withheld.length > 5 ? [...withheld.slice(0, 5), `${withheld.length - 5} more`] : withheld;
  return `the agent works without the repository's settings for it (${shown.join(', ')}): you have not trusted them as they are here. To see and allow them: reef trust`;
}
