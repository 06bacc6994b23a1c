import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { KitError } from '../base/errors.ts';
import { say } from './print.ts';
import { isStdin, readInput } from './read-input.ts';
import { type Terminal, terminal } from './terminal.ts';

/** Far longer than any secret. */
const LONGEST = 65_536;

/**
 * Reads a secret from a file or from stdin; never from an argument, as every user of the machine can read arguments. On a terminal it
 * is not shown.
 * @throws KitError INPUT_INVALID if there is none, or it has spaces or line breaks inside
 */
export async function readSecret(file: string | undefined): Promise<string> {
  const { stdin } = terminal();
  const given =
    isStdin(file) && stdin.isTTY
      ? await readUnseen(stdin)
      : await readInput({ file, what: 'the secret file', limit: LONGEST });
  const secret = given.toString('utf8').trim();
  if (/^\S+$/.test(secret)) return secret;
  const problem = secret === '' ? 'is empty' : 'has spaces or line breaks inside';
  throw new KitError(
    'INPUT_INVALID',
    `the secret ${problem}: give only the secret, in a file (--secret-file) or on stdin`,
  );
}

/** Reads what is pasted up to Enter. The terminal shows none of it, and has its settings back afterwards. */
function readUnseen(stdin: Terminal['stdin']): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  say('Paste the secret, which is not shown, then press Enter:'); // from now on nothing is
  return new Promise((resolve) => {
    const pasted: string[] = [];
    lines.on('line', (line) => {
      // Of several lines that are pasted together each comes at once.
      if (pasted.push(line) === 1) setImmediate(() => lines.close());
    });
    lines.once('close', () => resolve([...pasted, lines.line].join('\n')));
    lines.once('SIGINT', () => {
      lines.close();
      process.kill(process.pid, 'SIGINT'); // as ever: the terminal sends no signal while it is read in this way
    });
  });
}
