import { agents } from './requirements/agents.ts';
import { codeContext } from './requirements/code-context.ts';
import { fleet } from './requirements/fleet.ts';
import { journeys } from './requirements/journeys.ts';
import { reliability } from './requirements/reliability.ts';
import { repostate } from './requirements/repostate.ts';
import type { Requirement } from './requirements/row.ts';
import { runtime } from './requirements/runtime.ts';
import { security } from './requirements/security.ts';
import { surfaces } from './requirements/surfaces.ts';
import { workflow } from './requirements/workflow.ts';

/** Every requirement of the design, by id: tests cite them with `verifies`, and a gap is visible rather than forgotten. */
export const requirements = {
  ...agents,
  ...reliability,
  ...security,
  ...surfaces,
  ...workflow,
  ...codeContext,
  ...repostate,
  ...runtime,
  ...fleet,
  ...journeys,
};

export type RequirementId = keyof typeof requirements;

export const requirementRows: readonly (readonly [RequirementId, Requirement])[] = Object.entries(requirements).map(
  ([id, row]) => [id as RequirementId, row],
);
