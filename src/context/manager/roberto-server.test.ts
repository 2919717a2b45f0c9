import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/verifies.ts';
import { processRows } from '../../process/process-table.ts';
import { ContextPartitionerService } from '../partitioner/context-partitioner.ts';
import { robertoServer } from './server-command.ts';
import { FAKE_SERVER } from './testing/fake-command.ts';
import { openBench } from './testing/manager-bench.ts';

/** A program at a path, as `context.server` names one, that speaks like roberto-mcp 0.2.1. */
function writeRoberto(dir: string): string {
  const program = join(dir, 'roberto-mcp');
  const plan = JSON.stringify({ isRoberto: true });
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${FAKE_SERVER}' '${plan}' "$@"\n`);
  chmodSync(program, 0o755);
  return program;
}

verifies('C-095').test(
  'a configured roberto-mcp is started in the worktree, told its limit by both names, and understood',
  async () => {
    const server = { command: '', args: () => [], env: {} };
    const { dir, manager, worktree, close, pids } = await openBench(() => ({}), { server });
    onTestFinished(close);
    Object.assign(server, robertoServer(writeRoberto(dir), {}));
    const path = worktree('a');
    mkdirSync(join(path, 'src'));
    writeFileSync(join(path, 'src/cart.ts'), 'export class Cart {}\n');
    await manager.spinUpServer(path);
    const environment = processRows()
      .filter((row) => pids().includes(row.session))
      .map((row) => readFileSync(`/proc/${row.pid}/environ`, 'utf8').split('\0'))
      .at(-1);
    const service = new ContextPartitionerService({ servers: manager });
    expect({
      limits: environment?.filter((line) => line.startsWith('ROBERTO_')).sort(),
      outline: await service.getFileOutline({ worktreePath: path, filePath: 'src/cart.ts' }),
      empty: (await service.getFileOutline({ worktreePath: path, filePath: 'README.md' })).classes,
      uses: await service.getSymbolReferences({ worktreePath: path, symbolName: 'Cart' }),
    }).toEqual({
      limits: ['ROBERTO_MAX_MEMORY_MB=256', 'ROBERTO_MEMORY_LIMIT=256'],
      outline: { functions: [], classes: [{ name: 'Cart', line: 1 }], methods: [], types: [], constants: [] },
      empty: [],
      uses: [
        {
          filePath: 'src/cart.ts',
          line: 1,
          column: 13,
          kind: 'Usage',
          confidence: 'lexical',
          lineText: 'export class Cart {}',
        },
      ],
    });
  },
);
