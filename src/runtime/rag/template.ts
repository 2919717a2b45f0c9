/** Used where `rag_template` is null. */
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

/** One pass over the template: what is put in is never looked at again, whatever it contains. */
export function fillTemplate(
  template: string | null,
  values: { context: string; sources: string; input: string },
): string {
  const by = { CONTEXT: values.context, SOURCES: values.sources, INPUT: values.input };
  return (template ?? TEMPLATE).replace(PLACEHOLDER, (_, name: keyof typeof by) => by[name]);
}
