/** The default of `rag_template`. */
const TEMPLATE = `Answer the question with the help of the passages between <context> tags. They were found by a search and may be beside
the point: use what answers the question, leave out the rest, and say so when they do not answer it. Give the sources of
what you use.

<context>
__CONTEXT__
</context>

<sources>
__SOURCES__
</sources>

<question>
__INPUT__
</question>`;

const PLACEHOLDER = /__(CONTEXT|SOURCES|INPUT)__/g;

/** Fills the template in one pass: placeholders inside the values stay as they are. */
export function fillTemplate(
  template: string | null,
  values: { context: string; sources: string; input: string },
): string {
  const by = { CONTEXT: values.context, SOURCES: values.sources, INPUT: values.input };
  return (template ?? TEMPLATE).replace(PLACEHOLDER, (_, name: keyof typeof by) => by[name]);
}
