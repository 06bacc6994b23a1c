import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { expect, jest, test } from '@jest/globals';
import { defineHandlers } from '../../src/index.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { inspectedForEachTest } from '../support/inspected-service.ts';
import { runCli, startCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

jest.setTimeout(60_000);

const TOKEN = 'the-token-of-readers';
const DOOR = new URL('../../src/index.ts', import.meta.url);
/** Tells what it was given, in the reason for which it skips. */
const HANDLERS = `import { skip } from ${JSON.stringify(DOOR.href)};
export const handlers = { async media_available({ media_id }, ctx) {
  const id = await ctx.once('create', () => 'made here');
  if (process.env.SLOW) await new Promise((resolve) => setTimeout(resolve, 300));
  return skip([media_id, id, ctx.state.get('n'), ctx.origin, ctx.signal.aborted].join());
} };`;

const inspect = inspectedForEachTest();
const fileOf = directoryForEachTest();
const seen: (string | undefined)[] = [];
let answer = '';
/** Below /prefix/ a receiver behind a proxy; anything else is somewhere else. */
const server = createServer(({ url = '', headers }, res) => {
  if (url.startsWith('/prefix/api/events/')) return res.end(answer);
  if (url.startsWith('/echo'))
    return res.writeHead(403).end(JSON.stringify({ error: headers.authorization }));
  if (url.startsWith('/taken')) seen.push(headers.authorization);
  res.writeHead(302, { Location: '/taken' }).end();
});
const { url: at } = await listeningOn(server);

/** An event that was imported and handled in production, which has left a step and a state there. */
async function production() {
  const handlers = defineHandlers({
    async media_available(_event, ctx) {
      await ctx.once('create', () => 'made there');
      ctx.state.set('n', 7);
    },
  });
  const host = await inspect(handlers, { ADMIN_TOKEN: 'the-token-of-operators', ADMIN_READ_TOKEN: TOKEN });
  const { id } = await host.service.store.queue.record({ ...verified({ media_id: 'm1' }), origin: 'import' });
  await host.settled();
  writeFileSync(fileOf('token.txt'), TOKEN);
  writeFileSync(fileOf('handlers.mjs'), HANDLERS);
  const { body } = await host.raw(`/api/events/${id}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  answer = body;
  const args = ['handlers', 'try', id];
  const env = { HANDLERS: fileOf('handlers.mjs') };
  const tryIt = (more: readonly string[], own: Readonly<Record<string, string>> = {}) =>
    runCli([...args, ...more], { env: { ...env, ...own }, cwd: fileOf() });
  return { host, id, args, env, tryIt };
}

test('a handler gets an event of production with its steps and state, and leaves nothing there, when its id is tried from there', async () => {
  const { host, id, tryIt } = await production();
  const tried = await tryIt(['--from', host.url, '--token-file', 'token.txt', '--json']);
  expect(tried).toMatchObject({ code: 0, stderr: expect.stringContaining('to other systems are real') });
  const reason = 'm1,made there,7,import,false';
  const steps = [{ name: 'create', ran: false }];
  expect(JSON.parse(tried.stdout)).toMatchObject({ id, outcome: 'skip', reason, steps });
  const own = { ADMIN_TOKEN: 'the-token-of-an-own-one', ADMIN_READ_TOKEN: TOKEN };
  const byEnvironment = await tryIt(['--from', `${at}/prefix`, '--reset-steps'], own);
  expect(byEnvironment.stdout).toContain('m1,made here,7,import');
  expect(await host.service.store.queue.attempts({ id })).toHaveLength(1);
});

test('the token goes by https or to this machine, to no redirect and into no error, when a try from elsewhere fails', async () => {
  const { host, tryIt } = await production();
  const failing = async (from: string, token = TOKEN) => {
    const { code, stdout, stderr } = await tryIt(['--from', from], { ADMIN_TOKEN: token });
    expect(stdout + stderr).not.toContain(token);
    return `${code} ${stderr}`;
  };
  expect(await failing('http://hooks.example/')).toMatch(/^2 .*https \(http on this machine only\)/);
  expect(await failing(host.url, 'a-token-of-somebody')).toMatch(/^1 .*answered 401 .*ADMIN_READ_TOKEN/);
  expect(await failing(`${at}/echo`)).toMatch(/^1 .*answered 403 \(Bearer \(token\)\)/);
  expect(await failing(`${at}/moved`)).toMatch(/^1 .*answered 302/);
  expect(seen).toEqual([]);
  expect(await failing(host.service.url)).toMatch(/^1 .*answered 404 .*admin listener/);
  expect(await failing('http://127.0.0.1:1')).toMatch(/^1 .*no connection to http:\/\/127\.0\.0\.1:1\//);
  answer = JSON.stringify({ ...JSON.parse(answer), body: null });
  expect(await failing(`${at}/prefix`)).toMatch(/^1 .*the body of event \S+ was removed there/);
});

test('a try waits for a debugger, and gives the handler the time of one, when it is told to', async () => {
  const { host, args, env } = await production();
  const own = { ...env, SLOW: 'yes', HANDLER_TIMEOUT_MS: '50', ADMIN_TOKEN: TOKEN };
  const trying = startCli([...args, '--from', host.url, '--inspect', '0'], { env: own });
  await trying.says('ws://');
  expect(trying.said()).not.toContain('outcome');
  const debug = new WebSocket(/ws:\S+/.exec(trying.said())?.[0] ?? '');
  debug.onopen = () => debug.send('{"id":1,"method":"Runtime.runIfWaitingForDebugger"}');
  await trying.says('m1,made there,7,import,false');
  debug.close(); // until then, Node does not end the process
  expect(await trying.ended).toMatchObject({ code: 0 });
});
