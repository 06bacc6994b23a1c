import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { kindNames } from '../../src/notification/kinds.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { ndjson } from '../support/event-desk.ts';
import { runCli } from '../support/run-cli.ts';

const folder = join(import.meta.dirname, 'day');
const file = join(folder, 'day.ndjson');

/** The other system takes no conversions, and is down for each track once. */
function otherSystem() {
  const seen = new Set<unknown>();
  return createServer(async (req, res) => {
    const { event } = (await json(req)) as { event: string };
    const id = req.headers['webhook-id'];
    const isDown = event.startsWith('track_') && !seen.has(id);
    seen.add(id);
    res.writeHead(event === 'conversions_complete' ? 400 : isDown ? 503 : 204).end();
  });
}

test('the recipes come to the ends that the recording of a day expects, also when events come twice', async () => {
  const kinds = new Set(ndjson(readFileSync(file, 'utf8')).map(({ body }) => JSON.parse(body).event));
  expect([...kinds].toSorted()).toEqual([...kindNames, 'media_renamed'].toSorted());
  const { url } = await listeningOn(otherSystem());
  const env = { HANDLERS: join(folder, 'handlers.ts'), FORWARD_URL: url };
  const run = await runCli(['events', 'check', file, '--duplicate', '0.5', '--seed', '1'], { env });
  expect(run).toMatchObject({ code: 0, stdout: '' });
});
