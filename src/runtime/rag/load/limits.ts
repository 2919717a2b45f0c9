/** What a loader may cost. */
export const LOADER_MS = 60_000;

const MAX_TEXT = 64 * 1024 * 1024;
const MAX_RATIO = 100;
/** Of small files: one line of a command may well be short and its answer long. */
const LEAST_ROOM = 1024 * 1024;

/** Bytes of text that a file of so many may become: more is an attack or no document. */
export const roomFor = (fileBytes: number) => Math.min(MAX_TEXT, Math.max(LEAST_ROOM, fileBytes * MAX_RATIO));
