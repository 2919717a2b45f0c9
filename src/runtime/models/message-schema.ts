import { z } from 'zod';

/** Data that a provider wants back unread (signatures, item ids). Other providers ignore it. */
const opaque = z.record(z.string(), z.unknown()).exactOptional();
const textPart = z.strictObject({ type: z.literal('text'), text: z.string(), opaque });
const filePart = z.strictObject({
  type: z.literal('file'),
  mediaType: z.string(),
  /** Base64, or an http(s) address that the provider reads itself. */
  data: z.string(),
  name: z.string().exactOptional(),
});
const reasoningPart = z.strictObject({ type: z.literal('reasoning'), text: z.string(), opaque });
const callPart = z.strictObject({
  type: z.literal('tool_call'),
  id: z.string(),
  name: z.string(),
  /** Parsed JSON, or the text if the model wrote no JSON; no tool accepts that. */
  arguments: z.unknown(),
  opaque,
});
const resultPart = z.strictObject({
  type: z.literal('tool_result'),
  id: z.string(),
  name: z.string(),
  output: z.string(),
  isError: z.literal(true).exactOptional(),
});

export const messageSchema = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: z.string() }),
  z.strictObject({ role: z.literal('user'), content: z.array(z.union([textPart, filePart])) }),
  z.strictObject({
    role: z.literal('assistant'),
    content: z.array(z.union([textPart, reasoningPart, callPart])),
    /** Cut short by a cancel or a broken stream. */
    interrupted: z.literal(true).exactOptional(),
  }),
  z.strictObject({ role: z.literal('tool'), content: z.array(resultPart) }),
]);
