import { z } from 'zod';

/** RoboSmith's schemas of generated content: `text` is checked as it is, `json` after it was parsed. */
export const BUILT_IN_SCHEMAS = {
  CodeOnly: { form: 'text', schema: z.string().min(1, 'the code is empty') },
  CodeAndExplanation: {
    form: 'json',
    schema: z.object({
      code: z.string().min(1, 'the code is empty'),
      explanation: z.string().min(1, 'the explanation is empty'),
    }),
  },
} as const;
