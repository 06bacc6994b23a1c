import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import type { Handlers } from '../../src/dispatch/handler.ts';
import type { DefinedApp } from '../../src/index.ts';
import { testReceiver } from '../../src/testing/index.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { present } from '../support/only.ts';
import { copyProgram } from '../support/program-copy.ts';
import { snippetsOf } from '../support/snippets.ts';
import { tsc } from '../support/tools.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Every TypeScript block of every page; it becomes a file of src/handlers/. */
const snippets = globSync(['*.md', 'docs/**/*.md'], { cwd: root }).flatMap(snippetsOf);
const pathOf = (name: string) => `src/handlers/${name}`;

/** What the compiler says of a file that returns on some paths only: handlers may, our own code does not. */
const PARTIAL_RETURN = 'error TS7030';

/** A file with a mistake, so that it is known that the compiler looks. */
const WRONG = 'src/handlers/wrong.ts';

const copy = copyProgram();
copyFileSync(join(root, 'tsconfig.json'), join(copy, 'tsconfig.json'));
for (const { file, code } of snippets) writeFileSync(join(copy, pathOf(file)), code);
writeFileSync(join(copy, WRONG), 'export const wrong: number = "text";\n');
const config = { extends: './tsconfig.json', include: ['src'] };
writeFileSync(join(copy, 'tsconfig.snippets.json'), JSON.stringify(config));
const args = '--project tsconfig.snippets.json --noImplicitReturns --pretty false --singleThreaded';
const { stdout } = spawnSync(process.execPath, [tsc, ...args.split(' ')], { cwd: copy, encoding: 'utf8' });
const errors = stdout.split('\n').filter((line) => line.includes('error TS'));

/** The module of the first snippet of a page that has these addresses, or texts, changed to those of stand-ins. */
async function load(page: string, stead: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const { file: name, code } = present(
    snippets.find((one) => one.page === page && Object.keys(stead).every((from) => one.code.includes(from))),
  );
  const changed = Object.entries(stead).reduce((all, [from, to]) => {
    expect(all).toContain(from);
    return all.replaceAll(from, to);
  }, code);
  const file = join(copy, pathOf(`with-stand-ins-${name}`));
  writeFileSync(file, changed);
  return import(pathToFileURL(file).href);
}

/** A server that stands in for another system. */
const standIn = async (answer: RequestListener) => (await listeningOn(createServer(answer))).url;

describe('the TypeScript of README and docs', () => {
  test('is there and looked at by the compiler, when pages are read', () => {
    expect(errors).toContainEqual(expect.stringContaining(WRONG));
    const pages = new Set(snippets.map(({ page }) => page));
    expect([...pages]).toEqual(expect.arrayContaining(['README.md', 'docs/handlers.md', 'docs/mock.md']));
  });

  test.each(snippets)('compiles, when $file is a file of src/handlers/', ({ file }) => {
    const mistakes = errors.filter((line) => line.startsWith(pathOf(file)) && !line.includes(PARTIAL_RETURN));
    expect(mistakes).toEqual([]);
  });

  test('does not hide partial returns of our own code, which the setting for handlers lets pass', () => {
    expect(errors.filter((line) => !line.startsWith('src/handlers/'))).toEqual([]);
  });
});

test('the handler of the README makes one page and waits until it is built, when the CMS is down at first', async () => {
  const calls: string[] = [];
  const keys = new Set<unknown>();
  const cms: RequestListener = (req, res) => {
    calls.push(`${req.method} ${req.url}`);
    if (req.method === 'POST') keys.add(req.headers['idempotency-key']);
    const failed = calls.length === 1 ? 503 : calls.length === 3 ? 404 : 200;
    res.writeHead(failed).end(JSON.stringify({ url: `http://${req.headers.host}/pages/1` }));
  };
  const url = await standIn(cms);
  const { media } = await load('README.md', { 'https://cms.example': url });
  await using kit = await testReceiver({ handlers: media as Handlers });
  await kit.deliver('media_available', { media_id: 'media001' });
  await kit.settled();
  expect(await kit.event()).toMatchObject({ status: 'handled', starts: 3, attempts: 2 });
  expect(calls).toEqual(['POST /pages', 'POST /pages', 'HEAD /pages/1', 'HEAD /pages/1']);
  expect([...keys]).toEqual(['media001']);
  const published = kit.log().filter(({ msg }) => msg === 'published');
  expect(published).toMatchObject([{ page: `${url}/pages/1` }]);
  const reasons = (await kit.attempts()).map(({ outcome, error }) => [outcome, error]);
  expect(reasons[0]).toEqual(['error', expect.stringMatching(/^Error: the CMS answered 503\n.*readme-md/)]);
  expect(reasons[1]).toEqual(['retry', 'the page is not built yet']);
});

describe('the code of docs/guide.md and docs/handlers.md', () => {
  /** A shop of which the mail server is down at first. */
  const shopWithout = (mails: number) => {
    const charged: string[] = [];
    let tries = 0;
    return {
      charged,
      charge: async (mediaId: string) => void charged.push(mediaId),
      async mail() {
        if (++tries <= mails) throw new Error('the mail server is down');
      },
    };
  };

  test('charges twice, or once, as it says, when the mail server is down', async () => {
    const made = await load('docs/guide.md', { chargingTwice: 'chargingTwice' });
    for (const [name, charges] of [
      ['chargingTwice', 2],
      ['chargingOnce', 1],
    ] as const) {
      const shop = shopWithout(1);
      const handlers = (made[name] as (given: typeof shop) => Handlers)(shop);
      await using kit = await testReceiver({ handlers });
      await kit.deliver('media_available');
      await kit.settled();
      expect(shop.charged).toHaveLength(charges);
      expect(await kit.event()).toMatchObject({ status: 'handled', attempts: 2 });
    }
  });

  test('publishes to the CMS of its settings, shows what it has published, and tells a chat of what is dead', async () => {
    const asked: unknown[] = [];
    const posted: string[] = [];
    const services: RequestListener = async (req, res) => {
      if (req.url === '/chat') posted.push(await text(req));
      else asked.push([req.method, req.url, req.headers.authorization]);
      res.writeHead(req.url === '/pages/gone' ? 404 : asked.length === 1 ? 503 : 204).end();
    };
    const { app } = await load('docs/handlers.md', { CMS_URL: 'CMS_URL' });
    const url = await standIn(services);
    const settings = { CMS_URL: url, CMS_TOKEN: 'a token of the CMS', CHAT_URL: `${url}/chat` };
    await using kit = await testReceiver({ app: app as DefinedApp, settings });
    await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
    await kit.settled();
    expect(asked).toEqual([1, 2].map(() => ['PUT', '/pages/UUhbHm6C', 'Bearer a token of the CMS']));
    expect(JSON.parse((await kit.page('/app/published')).body)).toEqual([
      { resource: 'media:UUhbHm6C', since: expect.any(String) },
    ]);
    const { id } = await kit.deliver('media_available', { media_id: 'gone' });
    await kit.settled();
    const told = `media_available ${id} is dead after 1 attempts: the CMS has no page for it`;
    expect(posted).toEqual([JSON.stringify({ text: told })]);
  });
});
