import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { WebhooksClient } from '../../src/provider/index.ts';
import { rotate } from '../../src/rotation/rotate.ts';
import { hookOf, type Installation, install, SITE } from '../support/installation.ts';
import { handOn, type Interception } from '../support/provider-proxy.ts';
import { runService } from '../support/running-service.ts';
import { size } from '../support/sizes.ts';
import { refusals, startTraffic } from '../support/traffic.ts';

const here = await install();
const service = await runService({}, { ...here.env, WEBHOOK_SECRET: '' });
afterAll(() => here.dispose());

/** What a rotation asks of the provider, in order; its writes to the store lie between. */
const STEPS = ['GET list', 'POST successor', 'PATCH successor', 'DELETE old', 'PATCH mark'];

/** Hands everything on, with a notification of the site before and after each step. */
function handOnAmidNotifications(site: string): Interception {
  return async (_asked, forward) => {
    here.mock.createChannel({ site_id: site });
    const answer = await forward();
    here.mock.createChannel({ site_id: site });
    return answer;
  };
}

/** Kills the command at its request of this number: before the provider sees it, or before the answer is seen. */
async function killAt(
  args: readonly string[],
  step: number,
  moment: 'before' | 'after',
  otherSteps: Interception,
): Promise<number | null> {
  let kill = (): boolean => false;
  let count = 0;
  here.provider.intercept = async (asked, forward) => {
    if (count++ !== step) return otherSteps(asked, forward);
    if (moment === 'after') await forward();
    kill();
    return undefined;
  };
  const { code } = await here.cli(args, {
    onSpawn: (child) => {
      kill = () => child.kill('SIGKILL');
    },
  });
  here.provider.intercept = otherSteps;
  expect(count).toBe(step + 1);
  return code;
}

/** Where only the provider knows the successor, in the middle, and at the end. */
const cases = [
  { step: 1, moment: 'after' },
  { step: 3, moment: 'before' },
  { step: 4, moment: 'after' },
] as const;

test.each(cases)('leaves nothing half-done after a kill $moment step $step', async ({ step, moment }) => {
  const site = `site${step}${moment}`;
  const old = await here.register(hookOf(service), { site_ids: [site], description: 'd' });
  const original = here.mock.listWebhooks().find(({ id }) => id === old)?.metadata;
  const traffic = startTraffic(here.mock, site, size({ small: 40, full: 10 }));
  const notifying = handOnAmidNotifications(site);
  const rotate = ['webhooks', 'rotate', old];
  expect(await killAt(rotate, step, moment, notifying)).toBe(null);
  const { id, replaced } = await here.json(rotate);
  here.provider.intercept = handOn;
  await traffic.stop();
  const left = here.mock.listWebhooks().filter(({ metadata }) => metadata.name === 'main');
  expect(left).toMatchObject([{ metadata: original }]);
  expect(replaced).toBe(old);
  // After its very last step there is nothing left to name the successor by.
  expect(id).toBe(step === STEPS.length - 1 && moment === 'after' ? null : left[0]?.id);
  const views: { id: string; secret: string; provider: unknown }[] = await here.json(['webhooks', 'list']);
  const live = views.filter(({ secret, provider }) => secret === 'live' && provider);
  expect(live.map((view) => view.id)).toEqual([left[0]?.id]);
  expect(views.find((view) => view.id === old)).toMatchObject({ secret: 'retiring', provider: null });
  expect(refusals(here.mock)).toEqual([]);
  here.mock.deleteWebhook(left[0]?.id ?? '');
});

describe('in odd states, a rotation', () => {
  const URL = 'https://your.host/webhooks/media';
  let here: Installation;
  beforeEach(async () => {
    here = await install();
  });
  afterEach(() => here.dispose());

  /** A rotation in this process. */
  async function rotateHere(id: string) {
    const store = await here.openStore();
    const { url: baseUrl } = here.provider;
    const client = new WebhooksClient({ baseUrl, apiSecret: here.mock.apiSecret, maxAttempts: 1 });
    const { signal } = new AbortController();
    try {
      const options = { client, store, clock: systemClock, graceMs: 60_000, signal, onStep: () => undefined };
      return { ...(await rotate(id, options)), secrets: await store.secrets.live() };
    } finally {
      await store.close();
    }
  }

  async function storeSecret(id: string, secret: string): Promise<void> {
    const store = await here.openStore();
    await store.secrets.add(id, secret);
    await store.close();
  }

  function marked(description: string, site_ids: string[]) {
    const events = ['media_created' as const];
    return here.mock.createWebhook({ name: 'successor', webhook_url: URL, events, site_ids, description });
  }

  test('creates the successor whole, when the provider refuses one without sites, and keeps kinds that are new', async () => {
    const old = here.foreignWebhook(URL);
    const added: string[] = [];
    here.provider.intercept = async ({ method, body }, forward) => {
      if (method === 'GET') {
        const answer = await forward();
        return {
          ...answer,
          body: answer.body.replace('"media_created"', '"media_created","media_exploded"'),
        };
      }
      if (method === 'POST' && body.includes('"site_ids":[]')) return { status: 422, body: '{}' };
      if (method === 'POST') added.push(body);
      return { status: 403, body: '{}' };
    };
    await expect(rotateHere(old.id)).rejects.toMatchObject({ code: 'forbidden' });
    expect(added).toEqual([expect.stringMatching(`media_exploded.*${SITE}`)]);
    here.provider.intercept = async ({ method, body }, forward) =>
      method === 'POST' && body.includes('"site_ids":[]') ? { status: 400, body: '{}' } : forward();
    const { id, secrets, oldSecretUntil } = await rotateHere(old.id);
    expect(here.mock.listWebhooks()).toMatchObject([{ id, metadata: old.metadata }]);
    expect(secrets.map(({ webhookId }) => webhookId)).toEqual([id]);
    expect(oldSecretUntil).toBeUndefined(); // it was not stored here
  });

  test('keeps the old one, when the provider does not give the successor its sites', async () => {
    const old = here.foreignWebhook(URL);
    here.provider.intercept = async ({ method }, forward) => {
      const { status, body } = await forward();
      return { status, body: method === 'PATCH' ? body.replace(`["${SITE}"]`, '[]') : body };
    };
    await expect(rotateHere(old.id)).rejects.toMatchObject({ code: 'ROTATION_STOPPED' });
    expect(here.mock.listWebhooks().map(({ id }) => id)).toContain(old.id);
  });

  test('takes away what earlier runs have left behind without its secret, and no other webhook', async () => {
    const old = here.foreignWebhook(URL);
    for (const sites of [[], [SITE]]) marked(`[hookkit: replaces ${old.id}]`, sites);
    const others = ['mine', '[hookkit: replaces other000]'].map((text) => marked(text, []).id);
    const { id } = await rotateHere(old.id);
    expect(here.mock.listWebhooks().map((webhook) => webhook.id)).toEqual([...others, id]);
  });

  test('refuses, when the webhook is half-way a successor, or nothing is known of it', async () => {
    const { id } = marked('[hookkit: replaces old00000]', []);
    await expect(rotateHere(id)).rejects.toThrow(/rotate old00000 first/);
    await storeSecret('gone0000', 'the-secret-of-the-old-one-0123456789');
    await expect(rotateHere('gone0000')).rejects.toMatchObject({ code: 'WEBHOOK_UNKNOWN' });
  });

  test('asks for the sites, when the old one was deleted before the successor had them, and then finishes', async () => {
    const successor = marked('as it was [hookkit: replaces old00000]', []);
    await storeSecret(successor.id, successor.secret);
    await expect(rotateHere('old00000')).rejects.toThrow(`webhooks update ${successor.id} --site`);
    await here.cli(['webhooks', 'update', successor.id, '--site', SITE]);
    expect(await rotateHere('old00000')).toMatchObject({ id: successor.id });
    const metadata = { description: 'as it was', site_ids: [SITE] };
    expect(here.mock.listWebhooks()).toMatchObject([{ metadata }]);
  });
});
