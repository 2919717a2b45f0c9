import { parseArgs } from 'node:util';
import type { Language } from '../../src/context/lang/contract.ts';
import { ParserPool } from '../../src/context/lang/parser-pool.ts';
import { type Comparison, compareLanguage } from './compare.ts';
import { type Corpus, readCorpus, withPackages } from './corpus.ts';
import { CTAGS } from './ctags.ts';
import { byDialect } from './dialect.ts';
import { runEdges } from './edge-run.ts';
import { printEdges } from './edges.ts';
import { checkReferences, isCheckable, type ReferenceCheck } from './references.ts';
import { merge, printDefinitions, printReferences } from './report.ts';

/**
 * C-126 and C-127 on real packages. Definitions against universal-ctags, every difference explained or counted; references
 * against `rg -w`. What is compared is named on the command line, or is the list below.
 */
const PACKAGES = [
  'zod@4.6.7',
  'hono@4.13.17',
  'node-gyp@12.4.0',
  'better-sqlite3@12.11.1',
  'leveldown@6.1.1',
  'edge-js@26.1.0',
  '@capacitor/ios@8.5.2',
  '@wordpress/block-library@11.1.0',
  'react-native@0.76.5',
  'react-native-maps@1.20.1',
  'cordova-ios@7.1.1',
  '@temporalio/core-bridge@1.11.7',
  'ra-ui-materialui@5.15.4',
  '@blueprintjs/core@6.20.0',
  'tldraw@5.1.1',
  'bats@1.13.0',
  'n@10.2.0',
  'nave@3.5.6',
  'neofetch@7.1.0',
  '@nodenv/nodenv@1.6.2',
  'bash-oo-framework@2.1.1',
  'shml@1.1.0',
];

const { values } = parseArgs({
  options: {
    package: { type: 'string', multiple: true },
    path: { type: 'string', multiple: true },
    show: { type: 'string', default: '5' },
    /** Only who uses what: of the small corpora, and of repositories with labels at --path. */
    edges: { type: 'boolean', default: false },
  },
});

async function compare(corpora: readonly Corpus[]): Promise<boolean> {
  const parser = new ParserPool({ workers: 2 });
  const definitions: Comparison[] = [];
  const references: ReferenceCheck[] = [];
  try {
    for (const corpus of corpora) {
      for (const group of await byDialect(corpus.files)) {
        if (CTAGS[group.language] !== undefined) definitions.push(await compareLanguage(parser, group));
      }
      for (const language of languagesOf(corpus)) references.push(await checkReferences(parser, corpus, language));
    }
  } finally {
    await parser.close();
  }
  const show = Number(values.show);
  const hasDefinitions = printDefinitions(merge(definitions), show);
  const hasReferences = printReferences(references, show);
  return hasDefinitions && hasReferences;
}

function languagesOf(corpus: Corpus): Language[] {
  return [...new Set(corpus.files.map(({ language }) => language))].filter(isCheckable);
}

async function compareEdges(paths: readonly string[]): Promise<boolean> {
  return printEdges(await runEdges(paths), Number(values.show));
}

const paths = values.path ?? [];
const packages = values.package ?? (paths.length === 0 ? PACKAGES : []);

async function compareAll(): Promise<boolean> {
  const local = await Promise.all(paths.map((path) => readCorpus(path, path)));
  return withPackages(packages, (fetched) => compare([...local, ...fetched]));
}

const isKept = (values.edges || (await compareAll())) && (await compareEdges(paths));
process.exitCode = isKept ? 0 : 1;
