import type { SymbolType } from '../../protocol/code.ts';
import type { Language } from './contract.ts';

interface Candidate {
  language: Language;
  name: string;
  kind: SymbolType | 'scope' | 'declaration';
  signature: string;
  listed: ReadonlySet<string>;
  parent: { kind: string; exported: boolean; signature: string } | undefined;
}

type Rule = (candidate: Candidate) => boolean;

function unless(pattern: RegExp): Rule {
  return ({ signature }) => !pattern.test(signature);
}

/** Modifiers come before the first bracket or assignment, perhaps with annotations between them. */
const before = (words: string) => new RegExp(`^[^({=]*\\b(${words})\\b`);

const HIDDEN_MEMBER = before('private|protected');
const STATIC = before('static');
const OPEN = before('public|protected');
const JAVA_OPEN = before('public|protected|package');

const script: Rule = ({ name, signature, listed, parent }) => {
  if (name.startsWith('#') || HIDDEN_MEMBER.test(signature)) return false;
  const isMember = parent !== undefined && parent.kind !== 'module';
  return isMember || listed.has(name) || /^(export|declare)\b|^(module\.)?exports\b/.test(signature);
};

const rust: Rule = ({ signature, parent }) => {
  const isTraitMember = parent?.kind === 'interface' || (parent?.kind === 'scope' && / for /.test(parent.signature));
  return isTraitMember || parent?.kind === 'enum' || /^(#\[[^\]]*\]\s*)*pub\b/.test(signature);
};

/** Members of an interface or enum are public by default. */
function withInterface(rule: Rule): Rule {
  return (candidate) => ['interface', 'enum'].includes(candidate.parent?.kind ?? '') || rule(candidate);
}

const RULES: Record<Language, Rule> = {
  typescript: script,
  tsx: script,
  javascript: script,
  python: ({ name }) => !name.startsWith('_') || /^__.+__$/.test(name),
  go: ({ name, kind }) => kind === 'module' || /^\p{Lu}/u.test(name),
  rust,
  java: withInterface(({ signature }) => JAVA_OPEN.test(signature)),
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

/** Visible outside its file by the rule of the language. Nothing inside a hidden definition is visible. */
export function isExported(candidate: Candidate): boolean {
  const { parent } = candidate;
  const isHidden = parent !== undefined && !parent.exported && parent.kind !== 'scope';
  return candidate.kind === 'scope' || (!isHidden && RULES[candidate.language](candidate));
}
