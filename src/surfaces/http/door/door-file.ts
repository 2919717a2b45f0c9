import { isIP } from 'node:net';
import { z } from 'zod';
import { parseJson } from '../../../base/safe-json.ts';
import { ReefError } from '../../../protocol/errors.ts';

const portSchema = z.number().int().min(1).max(65_535);
const LOOPBACK = '127.0.0.1';

const pageSchema = z.strictObject({
  id: z.string().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  expiresAt: z.iso.datetime(),
});

const fileSchema = z.strictObject({
  version: z.literal(1),
  /** It is open whenever the daemon runs. */
  isOpen: z.boolean(),
  host: z.string(),
  /** Kept for the home, so that addresses and pages stay valid. */
  port: portSchema.optional(),
  origin: z.string().optional(),
  pages: z.array(pageSchema),
});
/** What a home keeps of its door. */
export type DoorRecord = z.infer<typeof fileSchema>;

export const NO_DOOR: DoorRecord = { version: 1, isOpen: false, host: LOOPBACK, pages: [] };

export function parseDoorFile(text: string): DoorRecord {
  const json = parseJson(text);
  return fileSchema.parse(json.ok ? json.value : undefined);
}

const askSchema = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('open'),
    port: portSchema.optional(),
    host: z.string().max(100).optional(),
    origin: z.string().max(300).optional(),
    isRemoteShell: z.boolean().optional(),
  }),
  z.strictObject({ do: z.enum(['login', 'rotate', 'close', 'look']) }),
]);

export function parseDoorAsk(asked: unknown): z.infer<typeof askSchema> {
  const result = askSchema.safeParse(asked);
  if (!result.success) {
    const [issue] = result.error.issues;
    throw new ReefError('bad_request', `${issue?.path.join('.') || 'do'}: ${issue?.message}`);
  }
  if (result.data.do === 'open') refusePlace(result.data);
  return result.data;
}

type OpenAsk = Extract<z.infer<typeof askSchema>, { do: 'open' }>;

/** Only the loopback interface is opened for the asking: whoever comes in can start programs. */
function refusePlace({ host = LOOPBACK, origin, isRemoteShell = false }: OpenAsk): void {
  if (isIP(host) === 0)
    throw new ReefError('bad_request', `host: ${host} is not an address: give a number such as 127.0.0.1`);
  if (host !== LOOPBACK && !isRemoteShell) {
    throw new ReefError('remote_shell', `Whoever reaches ${host} and has the token can start programs as you`);
  }
  if (origin !== undefined && originOf(origin) !== origin) {
    throw new ReefError('bad_request', `origin: ${origin} is not an address such as https://reef.example.org`);
  }
}

function originOf(text: string): string | undefined {
  return /^https:\/\//.test(text) && URL.canParse(text) ? new URL(text).origin : undefined;
}
