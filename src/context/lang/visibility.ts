import type { Language, SymbolKind } from './contract.ts';

export interface Candidate {
  language: Language;
  name: string;
  kind: SymbolKind | 'scope' | 'declaration';
  signature: string;
  listed: ReadonlySet<string>;
  parent: { kind: string; exported: boolean; signature: string } | undefined;
}

type Rule = (candidate: Candidate) => boolean;

const unless =
  (pattern: RegExp): Rule =>
  ({ signature }) =>
    !pattern.test(signature);
const onlyIf =
  (pattern: RegExp): Rule =>
  ({ signature }) =>
    pattern.test(signature);

/** Modifiers stand before the first bracket or assignment; annotations may stand among them. */
const before = (words: string) => new RegExp(`^[^({=]*\\b(${words})\\b`);

const HIDDEN_MEMBER = before('private|protected');
const STATIC = before('static');
const OPEN = before('public|protected');

const script: Rule = ({ name, signature, listed, parent }) => {
  if (name.startsWith('#') || HIDDEN_MEMBER.test(signature)) return false;
  return parent !== undefined && parent.kind !== 'module' ? true : isScriptExport(name, signature, listed);
};

function isScriptExport(name: string, signature: string, listed: ReadonlySet<string>): boolean {
  return listed.has(name) || /^(export|declare)\b|^(module\.)?exports\b/.test(signature);
}

const rust: Rule = ({ signature, parent }) => {
  const isTraitMember = parent?.kind === 'interface' || (parent?.kind === 'scope' && / for /.test(parent.signature));
  return isTraitMember || parent?.kind === 'enum' || /^(#\[[^\]]*\]\s*)*pub\b/.test(signature);
};

/** Members of an interface are public without saying so. */
const withInterface =
  (rule: Rule): Rule =>
  (candidate) =>
    ['interface', 'enum'].includes(candidate.parent?.kind ?? '') || rule(candidate);

const RULES: Record<Language, Rule> = {
  typescript: script,
  tsx: script,
  javascript: script,
  python: ({ name }) => !name.startsWith('_') || /^__.+__$/.test(name),
  go: ({ name, kind }) => kind === 'module' || /^\p{Lu}/u.test(name),
  rust,
  java: withInterface(onlyIf(before('public|protected|package'))),
  kotlin: unless(before('private|internal')),
  scala: unless(before('private')),
  c: unless(STATIC),
  cpp: ({ signature, parent }) => parent?.kind === 'class' || parent?.kind === 'struct' || !STATIC.test(signature),
  objc: unless(STATIC),
  csharp: withInterface(({ kind, signature }) => kind === 'module' || OPEN.test(signature)),
  php: unless(HIDDEN_MEMBER),
  ruby: unless(/^private\b/),
  swift: unless(before('private|fileprivate')),
  bash: () => true,
};

/** Visible outside its file by the language's own rule; inside a hidden thing nothing is visible. */
export function isExported(candidate: Candidate): boolean {
  const { parent } = candidate;
  const isHidden = parent !== undefined && !parent.exported && parent.kind !== 'scope';
  return candidate.kind === 'scope' || (!isHidden && RULES[candidate.language](candidate));
}
