import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { hookOf, type Installation, install } from '../support/installation.ts';
import { handOn, type Interception } from '../support/provider-proxy.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { size } from '../support/sizes.ts';
import { refusals, startTraffic } from '../support/traffic.ts';

let here: Installation;
let service: RunningService;
beforeAll(async () => {
  here = await install();
  service = await runService({}, { ...here.env, WEBHOOK_SECRET: '' });
});
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

test.each(cases)(
  'leaves nothing half-done, when it is killed $moment step $step and run again',
  async ({ step, moment }) => {
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
  },
);
