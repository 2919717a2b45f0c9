/** How the program of fake-server.ts behaves. */
export interface FakePlan {
  initialize?: 'silent' | 'exit';
  index?: 'hang' | 'refuse';
  /** Before every answer. */
  delayMs?: number;
  /** To the end of its input and to SIGTERM. */
  isDeaf?: boolean;
  /** Gets a line for its start and for every message. */
  log?: string;
}
