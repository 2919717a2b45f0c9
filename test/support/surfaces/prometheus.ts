/** Reads the text format of Prometheus as its own reader does: every line is a sample of a metric that was declared, or it throws. */
export function readMetrics(text: string): Map<string, number> {
  const [declared, samples] = [new Set<string>(), new Map<string, number>()];
  for (const line of text.split('\n').slice(0, -1)) {
    const type = /^# TYPE (\w+) (?:gauge|counter)$/.exec(line);
    if (type) declared.add(type[1] ?? '');
    if (type || /^# HELP \w+ \S/.test(line)) continue;
    const sample = /^([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\})? (-?[\d.e+-]+)$/.exec(line);
    const [, name = '', labels = '', value] = sample ?? [];
    if (!declared.has(name) || samples.has(name + labels)) throw new Error(`no sample: ${line}`);
    samples.set(name + labels, Number(value));
  }
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  return samples;
}
