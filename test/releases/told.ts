import { callCli } from '../support/run-cli.ts';

/** In ISO 8601, and as milliseconds since the epoch. */
const TIMES = /\b(\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)|1\d{12}\b)/g;

/** What commands tell of a database as JSON, without times: what there is, and each event with all that belongs to it. */
export async function toldOf(env: Readonly<Record<string, string>>) {
  const run = async (...args: string[]) => {
    const { stdout } = await callCli([...args, '--json'], { env });
    // Of a list, each line is an object; one object alone takes many.
    const objects = stdout.replaceAll(TIMES, '0').split(/^(?={)/m);
    return objects.map((text) => JSON.parse(text));
  };
  const [{ events, paused, quarantined, quarantine_lost, schedules }] = await run('status');
  const told = [{ events, paused, quarantined, quarantine_lost, schedules }];
  told.push(...(await run('audit')), ...(await run('quarantine', 'list')));
  for (const { id } of await run('events', 'list', '--subscriber', 'all', '--limit', '500'))
    told.push(...(await run('events', 'show', id)));
  return told;
}
