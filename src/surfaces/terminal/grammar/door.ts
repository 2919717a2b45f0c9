import { type Command, InvalidArgumentError } from 'commander';
import { definer, type Run, wholeNumber } from './define.ts';

export function declare(program: Command, run: Run): void {
  const define = definer(run, () => import('../commands/serve.ts'));
  const serve = program
    .command('serve')
    .description('Open the page and the interfaces of this repository on a port of this machine; prints the address')
    .option('--port <number>', 'port to listen at (default: the same as before, or any that is free)', portNumber)
    .option('--host <address>', 'address to listen at (default: 127.0.0.1, which only this machine reaches)')
    .option('--origin <url>', 'address, such as https://reef.example.org, of a tunnel or proxy of your own')
    .option('--i-know-this-is-a-remote-shell', 'allow a --host that other machines reach')
    .option('--close', 'close it instead')
    .option('--database-url <address>', 'serve a fleet instead of this repository: its database, without a password')
    .option('--database-url-file <file>', 'the same, with the address in a file that only you can read')
    .option('--hub <folder>', 'of a fleet: where the repositories of the hub lie');
  define(serve, 'serve', 'reef serve --origin https://reef.example.org');
  const open = program.command('open').description('Open the page of this repository in your browser, and log it in');
  define(open, 'open');
  const token = program.command('token').description('The token that scripts show at the address of reef serve');
  const rotate = token
    .command('rotate')
    .description('Replace the token, and end everything that was let in with a code or the old one');
  define(rotate, 'rotateToken');
}

function portNumber(text: string): number {
  const port = wholeNumber(text);
  if (port > 65_535) throw new InvalidArgumentError('expected a number up to 65535');
  return port;
}
