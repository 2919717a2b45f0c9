/** Notifications of Codex 0.166.0 that tell a job nothing. Any other unknown one is drift, and counted. */
export const OF_NO_INTEREST: ReadonlySet<string> = new Set([
  'account/gatewayOAuth/changed',
  'account/login/completed',
  'account/updated',
  'app/list/updated',
  'autoApprovalReview/strictReviewRequired',
  'command/exec/outputDelta',
  'externalAgentConfig/import/completed',
  'externalAgentConfig/import/progress',
  'fs/changed',
  'fuzzyFileSearch/sessionCompleted',
  'fuzzyFileSearch/sessionUpdated',
  'hook/completed',
  'hook/started',
  'item/autoApprovalReview/completed',
  'item/autoApprovalReview/started',
  'item/commandExecution/outputDelta',
  'item/commandExecution/terminalInteraction',
  'item/fileChange/outputDelta',
  'item/fileChange/patchUpdated',
  'item/mcpToolCall/progress',
  'item/reasoning/summaryPartAdded',
  'item/reasoning/summaryTextDelta',
  'item/reasoning/textDelta',
  'mcpServer/event/stream/notification',
  'mcpServer/oauthLogin/completed',
  'model/safetyBuffering/updated',
  'model/verification',
  'modelProvider/authRecoveryCompleted',
  'modelProvider/authRecoveryStarted',
  'process/exited',
  'process/outputDelta',
  'project/changed',
  'rawResponse/completed',
  'rawResponseItem/completed',
  'remoteControl/status/changed',
  'skills/changed',
  'thread/archived',
  'thread/attachment/updated',
  'thread/closed',
  'thread/compacted',
  'thread/deleted',
  'thread/environment/connected',
  'thread/environment/disconnected',
  'thread/goal/cleared',
  'thread/goal/updated',
  'thread/name/updated',
  'thread/prediction/updated',
  'thread/project/updated',
  'thread/queue/changed',
  'thread/readState/changed',
  'thread/reverted',
  'thread/settings/updated',
  'thread/started',
  'thread/status/changed',
  'thread/unarchived',
  'turn/diff/updated',
  'turn/moderationMetadata',
]);

/**
 * It says at every launch that it leaves the project's own settings alone, three lines on stderr and one notification. Reef
 * decides that, and says so itself where there are any.
 */
export const LEFT_ALONE = /\bProject-local config, hooks, and exec policies are disabled\b/;

/** Lines of its stderr that say nothing new. A command that failed has its result; Codex logs it once more. */
const ROUTINE = [
  LEFT_ALONE,
  /^\s+\d+\. \/.*\/\.codex$/,
  /^\s+To load project-local config, hooks, and exec policies, add \S/,
  /^Reading additional input from stdin\.\.\.$/,
  / ERROR codex_core::tools::router: error=Exit code: \d+$/,
];

export const isRoutine = (text: string): boolean => ROUTINE.some((line) => line.test(text));

/** Items likewise. */
export const ITEMS_OF_NO_INTEREST: ReadonlySet<string> = new Set([
  'enteredReviewMode',
  'exitedReviewMode',
  'functionCallOutput',
  'hookPrompt',
  'sleep',
]);
